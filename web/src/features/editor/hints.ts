/** What the server says of the words of a text: shown where somebody points at one, or asks with the keyboard. */
import { StateEffect, StateField } from '@codemirror/state';
import { type EditorView, hoverTooltip, keymap, showTooltip, type Tooltip } from '@codemirror/view';
import { hover } from '../../api/authoring';
import { Places } from './diagnostics';

export interface Piece {
  kind: 'text' | 'strong' | 'code';
  text: string;
}

const MARKED = /\*\*(.+?)\*\*|`([^`\n]+)`/g;

/** Words with a little markup as pieces: what is strong, what is code, and all the rest. They are never read as HTML. */
export function pieces(words: string): Piece[] {
  const found: Piece[] = [];
  let from = 0;
  for (const mark of words.matchAll(MARKED)) {
    if (mark.index > from) found.push({ kind: 'text', text: words.slice(from, mark.index) });
    const strong = mark[1];
    found.push(
      strong === undefined ? { kind: 'code', text: mark[2] ?? '' } : { kind: 'strong', text: strong },
    );
    from = mark.index + mark[0].length;
  }
  if (from < words.length) found.push({ kind: 'text', text: words.slice(from) });
  return found;
}

function shown(words: string): HTMLElement {
  const box = document.createElement('div');
  box.className = 'cm-hint';
  box.setAttribute('role', 'tooltip');
  for (const { kind, text } of pieces(words)) {
    const part = kind === 'text' ? document.createTextNode(text) : document.createElement(kind);
    part.textContent = text;
    box.append(part);
  }
  return box;
}

/** What stands at a place; null where there is nothing to say, or the text has changed since it was asked. */
export async function hintAt(view: EditorView, offset: number): Promise<Tooltip | null> {
  const text = view.state.doc.toString();
  const places = new Places(text);
  const { line, column } = places.of(offset);
  const found = await hover(text, line, column).catch(() => null);
  const words = found?.words;
  if (!words || view.state.doc.toString() !== text) return null;
  return {
    pos: places.at(found.line ?? line, found.column ?? column),
    end: places.at(found.end_line ?? line, found.end_column ?? column),
    above: true,
    create: () => ({ dom: shown(words) }),
  };
}

const setAsked = StateEffect.define<Tooltip | null>();

/** What the keyboard asked for: it stays until the cursor or the text moves. */
const asked = StateField.define<Tooltip | null>({
  create: () => null,
  update(was, change) {
    for (const effect of change.effects) if (effect.is(setAsked)) return effect.value;
    return change.docChanged || change.selection ? null : was;
  },
  provide: (field) => showTooltip.from(field),
});

function askHere(view: EditorView): boolean {
  void hintAt(view, view.state.selection.main.head).then((hint) => {
    if (view.dom.isConnected) view.dispatch({ effects: setAsked.of(hint) });
  });
  return true;
}

function drop(view: EditorView): boolean {
  if (!view.state.field(asked)) return false;
  view.dispatch({ effects: setAsked.of(null) });
  return true;
}

/** Words are explained where somebody points at them, and with Mod-i where the cursor is. */
export const hints = [
  hoverTooltip(hintAt, { hoverTime: 350 }),
  asked,
  keymap.of([
    { key: 'Mod-i', run: askHere },
    { key: 'Escape', run: drop },
  ]),
];
