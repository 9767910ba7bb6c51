/** Keys: one list per page, heard unless somebody types, and shown by `?`. */
import { useEffect, useRef } from 'react';

export interface KeyBinding {
  /** As in `Shift+C`, `/`, `ArrowLeft`, `Mod+k`; of two that are pressed one after the other, `g e`. */
  keys: string;
  label: string;
  run: () => void;
  /** Also while a field has the focus. */
  always?: boolean;
}

const shown = new Map<symbol, readonly KeyBinding[]>();

/** What can be pressed now, for the help. */
export function bindings(): KeyBinding[] {
  return [...shown.values()].flat();
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return (
    target.isContentEditable ||
    /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) ||
    !!target.closest('.cm-editor')
  );
}

/** Whether a key is for what has the focus: Enter and Space press a button, whatever else they mean on a page. */
export function isForControl(name: string, target: EventTarget | null): boolean {
  return (
    /^(Enter|Space)$/.test(name) &&
    target instanceof Element &&
    target.closest('button, a[href], summary, [role=button], [role=menuitem], [role=option]') !== null
  );
}

export function pressed(
  event: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey' | 'shiftKey'>,
): string {
  const parts: string[] = [];
  if (event.ctrlKey || event.metaKey) parts.push('Mod');
  if (event.altKey) parts.push('Alt');
  const isLetter = /^[a-z]$/i.test(event.key);
  const isNamed = event.key.length > 1;
  if (event.shiftKey && (isLetter || isNamed)) parts.push('Shift');
  parts.push(event.key === ' ' ? 'Space' : isLetter && event.shiftKey ? event.key.toUpperCase() : event.key);
  return parts.join('+');
}

/** What an event means is made out once, before anybody hears it: it may be the second key of two. */
const names = new WeakMap<KeyboardEvent, string>();
let begun = '';

function isFirst(name: string): boolean {
  return bindings().some((one) => one.keys.startsWith(`${name} `));
}

function nameOf(event: KeyboardEvent): string {
  const known = names.get(event);
  if (known !== undefined) return known;
  const name = begun ? `${begun} ${pressed(event)}` : pressed(event);
  names.set(event, name);
  if (/^(Shift|Control|Alt|Meta)$/.test(event.key)) return name; // on the way to the key that counts
  begun = !begun && !isTyping(event.target) && !isModal() && isFirst(name) ? name : '';
  return name;
}

function isModal(): boolean {
  return document.querySelector('[role="dialog"][aria-modal="true"]') !== null;
}

/** Hear keys while a component is there. */
export function useKeys(list: readonly KeyBinding[]): void {
  const latest = useRef(list);
  latest.current = list;
  useEffect(() => {
    const me = Symbol('keys');
    shown.set(me, latest.current);
    // asked before anybody hears the key: a dialog that Escape closes is gone by the time we do
    let modal = false;
    const look = (event: KeyboardEvent) => {
      modal = isModal();
      nameOf(event);
    };
    const hear = (event: KeyboardEvent) => {
      if (event.defaultPrevented) return;
      const name = nameOf(event);
      const found = latest.current.find((one) => one.keys === name);
      if (!found || (!found.always && (isTyping(event.target) || modal))) return;
      if (isForControl(name, event.target)) return;
      event.preventDefault();
      found.run();
    };
    window.addEventListener('keydown', look, true);
    document.addEventListener('keydown', hear);
    return () => {
      shown.delete(me);
      window.removeEventListener('keydown', look, true);
      document.removeEventListener('keydown', hear);
    };
  }, []);
  useEffect(() => {
    for (const [me, known] of shown) if (known !== list && sameKeys(known, list)) shown.set(me, list);
  }, [list]);
}

function sameKeys(a: readonly KeyBinding[], b: readonly KeyBinding[]): boolean {
  return a.length === b.length && a.every((one, n) => one.keys === b[n]?.keys);
}
