/** A story in columns: what every record moved. The server sends it in parts; each goes on where the last one ended. */
import type { Frames } from '../api/shapes';

export type { Frames };
export interface Place {
  step: string;
  kind: 'ready' | 'running';
  arc: [from: string, index: number] | null;
}

export const FAILS = 1;
export const RETRIES = 2;
export const PERSON = 4;
export const OPERATOR = 8;
export const FORKS = 16;
export const STUCK = 32;

/** What a mark on the scrubber is about; the first that fits, worst first. */
export const MARKS = [
  { bit: STUCK, name: 'stuck', token: 'stuck' },
  { bit: FAILS, name: 'failure', token: 'failed' },
  { bit: PERSON, name: 'person', token: 'waiting' },
  { bit: OPERATOR, name: 'operator act', token: 'partial' },
  { bit: FORKS, name: 'fork', token: 'done' },
  { bit: RETRIES, name: 'retry', token: 'running' },
] as const;

export type Mark = (typeof MARKS)[number];

export function markOf(flag: number): Mark | null {
  return MARKS.find((mark) => (flag & mark.bit) !== 0) ?? null;
}

export function placeOf(told: Frames['places'][number]): Place {
  const arc = told.arc;
  const found =
    Array.isArray(arc) && arc.length === 2 ? ([String(arc[0]), Number(arc[1])] as [string, number]) : null;
  return { step: told.step, kind: told.kind === 'running' ? 'running' : 'ready', arc: found };
}
