/** What the palette offers beside what it finds: pages say what can be done on them while they are there. */
import { useEffect } from 'react';

export interface Command {
  id: string;
  label: string;
  /** What the words are looked for in, beside the label. */
  more?: string;
  group: 'Pages' | 'Acts' | 'Steps' | 'Records';
  run: () => void;
}

const offered = new Map<symbol, readonly Command[]>();

export function commands(): Command[] {
  return [...offered.values()].flat();
}

/** Offer commands while a component is there. */
export function useCommands(list: readonly Command[]): void {
  useEffect(() => {
    const me = Symbol('commands');
    offered.set(me, list);
    return () => {
      offered.delete(me);
    };
  }, [list]);
}

export type Mode = { kind: 'all' | 'acts' | 'executions' | 'steps' | 'record' | 'keys'; rest: string };

const PREFIX: Record<string, Mode['kind']> = {
  '>': 'acts',
  '#': 'executions',
  '@': 'steps',
  ':': 'record',
  '?': 'keys',
};

/** What somebody looks for: `>` acts, `#` executions, `@` steps, `:44` a record, `?` keys, else everything. */
export function modeOf(text: string): Mode {
  const kind = PREFIX[text[0] ?? ''];
  return kind ? { kind, rest: text.slice(1).trim() } : { kind: 'all', rest: text.trim() };
}

export function fits(command: Command, mode: Mode): boolean {
  if (mode.kind === 'acts' && command.group !== 'Acts') return false;
  if (mode.kind === 'steps' && command.group !== 'Steps') return false;
  if (mode.kind === 'executions' || mode.kind === 'keys') return false;
  if (mode.kind === 'record') return command.group === 'Records';
  if (mode.kind === 'all' && command.group === 'Records') return false;
  const within = `${command.label} ${command.more ?? ''}`.toLowerCase();
  return mode.rest
    .toLowerCase()
    .split(/\s+/)
    .every((word) => within.includes(word));
}
