import { expect, it } from 'vitest';
import type { Heat } from '../../api/running';
import { arcShare, factOf, stepFact } from './heat';

const HEAT: Heat = {
  path: 'p',
  playbook: 'p',
  executions: 4,
  statuses: {},
  last: [],
  steps: { a: { runs: 4, failed: 1, failure_rate: 0.25, median_ms: 12, retries: 0 } },
  arcs: [
    { from: 'a', index: 0, count: 3 },
    { from: 'a', index: 1, count: 1 },
  ],
};

it('says which share of the leavings an arc got', () => {
  expect(arcShare(HEAT, 'a', 0)).toBe(0.75);
  expect(arcShare(HEAT, 'a', 2)).toBe(0);
  expect(arcShare(HEAT, 'b', 0)).toBeNull();
});

it('says of a step that leaves by several arcs at once how often each was taken', () => {
  const arcs = [
    { from: 'a', index: 0, count: 4 },
    { from: 'a', index: 1, count: 1 },
  ];
  expect(arcShare({ ...HEAT, arcs }, 'a', 0)).toBe(1);
  expect(arcShare({ ...HEAT, arcs }, 'a', 1)).toBe(0.25);
});

it('knows a step that ran, and none that did not', () => {
  expect(stepFact(HEAT, 'a')?.failed).toBe(1);
  expect(stepFact(HEAT, 'constructor_')).toBeNull();
});

it('says how long a step takes, and that it fails', () => {
  expect(factOf(HEAT, 'a')).toEqual({ text: '12 ms · 25 % failed', token: 'failed' });
  expect(factOf(HEAT, 'b')).toBeNull();
});
