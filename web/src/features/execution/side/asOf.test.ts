import { expect, test } from 'vitest';
import type { IterationRow, RunDetail, RunRow } from '../../../api/shapes';
import { iterationAsOf, rowAsOf, runAsOf } from './asOf';

const ROW = { n: 3, first: 5, last: 9, state: 'failed', ms: 40, error: 'timeout', message: 'too slow' };

test('before a run ended it is under way, and nothing is told of what it came to', () => {
  const row = rowAsOf(ROW as RunRow, 8);
  expect(row).toMatchObject({ n: 3, state: 'running', last: null, ms: null, error: null, message: null });
  const whole = { ...ROW, args: { n: 1 }, attempts: [{}], writes: [{ key: 'k' }], result: 7, failure: {} };
  expect(runAsOf(whole as unknown as RunDetail, 8)).toMatchObject({
    state: 'running',
    args: { n: 1 },
    attempts: [],
    writes: [],
    result: null,
    failure: null,
  });
});

test('from the record on in which it ended it is as it is', () => {
  expect(rowAsOf(ROW as RunRow, 9)).toBe(ROW);
  expect(runAsOf(ROW as unknown as RunDetail, 20)).toBe(ROW);
  const open = { ...ROW, last: null } as RunRow;
  expect(rowAsOf(open, 5)).toBe(open);
});

test('an iteration is to go, in flight, and then over', () => {
  const one = {
    n: 1,
    path: [1],
    state: 'ok',
    ms: 3,
    first: 4,
    last: 6,
    attempts: 2,
    error: null,
    result: '1',
  };
  const told = (seq: number) => iterationAsOf(one as IterationRow, seq);
  expect([3, 4, 5, 6].map((seq) => told(seq).state)).toEqual(['to_go', 'in_flight', 'in_flight', 'ok']);
  expect(told(3)).toMatchObject({ first: null, result: null, ms: null });
  expect(told(5)).toMatchObject({ first: 4, last: null, result: null, attempts: 0 });
});
