/** What was known of a run, or of an iteration, at a record: what it came to later is not told before. */
import type { IterationRow, RunDetail, RunRow } from '../../../api/shapes';

const OPEN = { state: 'running', last: null, ended: null, ms: null } as const;

export function rowAsOf(row: RunRow, seq: number): RunRow {
  return row.last !== null && row.last > seq ? { ...row, ...OPEN, error: null, message: null } : row;
}

export function runAsOf(run: RunDetail, seq: number): RunDetail {
  if (run.last === null || run.last <= seq) return run;
  const nothing = { failure: null, result: null, attempts: [], writes: [], actor: null };
  return { ...run, ...OPEN, ...nothing, error: null, message: null, administrative: false };
}

export function iterationAsOf(one: IterationRow, seq: number): IterationRow {
  if (one.last === null || one.last <= seq) return one;
  const nothing = { last: null, ms: null, attempts: 0, error: null, result: null };
  return one.first !== null && one.first <= seq
    ? { ...one, ...nothing, state: 'in_flight' }
    : { ...one, ...nothing, first: null, state: 'to_go' };
}
