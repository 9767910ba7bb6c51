import { expect, test } from 'vitest';
import type { Frames } from './frames';
import { readSel, type Sel, writeSel } from './sel';
import { firstSel, nextOfSel, recordsOfSel, stepOfSel } from './select';
import { StoryStore } from './store';

const FRAMES = {
  first: 1,
  at0: 0,
  version: 6,
  places: [
    { step: 'a', kind: 'ready' },
    { step: 'a', kind: 'running' },
    { step: 'b', kind: 'ready', arc: ['a', 0] },
    { step: 'b', kind: 'running' },
  ],
  types: ['execution.started', 'step.started', 'step.done', 'step.failed', 'execution.ended'],
  steps: ['a', 'b'],
  dt: [0, 1, 1, 1, 1, 1],
  type: [0, 1, 2, 1, 3, 4],
  step: [-1, 0, 0, 1, 1, -1],
  run: [0, 1, 1, 2, 2, 0],
  flag: [0, 0, 0, 0, 1, 0],
  delta: [[0, 1], [0, -1, 1, 1], [1, -1, 2, 1], [2, -1, 3, 1], [3, -1], []],
} as unknown as Frames;

function story(): StoryStore {
  const made = new StoryStore();
  made.append(FRAMES);
  return made;
}

const ALL: Sel[] = [
  { kind: 'step', step: 'enrich' },
  { kind: 'step', step: 'a:b/c d' },
  { kind: 'run', run: 17 },
  { kind: 'iter', run: 17, n: 11 },
  { kind: 'arc', from: 'enrich', index: 0 },
  { kind: 'arc', from: 'a/b', index: 3 },
  { kind: 'place', place: 'enrich.ready' },
  { kind: 'token', token: '01:ab' },
  { kind: 'rec', seq: 44 },
  { kind: 'ctx', key: 'total' },
  { kind: 'item', item: '7f' },
];

test.each(ALL)('%j is read back as it is written', (sel) => {
  expect(readSel(writeSel(sel))).toEqual(sel);
});

test.each([
  undefined,
  '',
  'step',
  'step:',
  ':x',
  'run:x',
  'run:1/2',
  'iter:1',
  'iter:a/b',
  'arc:a',
  'rec:-1',
  'rec:1e9',
  'nothing:x',
])('%j is no selection', (text) => {
  expect(readSel(text)).toBeNull();
});

test('every selection knows its step', () => {
  const told = story();
  expect(stepOfSel(told, { kind: 'run', run: 2 })).toBe('b');
  expect(stepOfSel(told, { kind: 'rec', seq: 3 })).toBe('a');
  expect(stepOfSel(told, { kind: 'rec', seq: 1 })).toBeNull();
  expect(stepOfSel(told, { kind: 'place', place: 'b.ready' })).toBe('b');
  expect(stepOfSel(told, { kind: 'ctx', key: 'x' })).toBeNull();
  expect(stepOfSel(told, null)).toBeNull();
});

test('every selection knows its records', () => {
  const told = story();
  expect(recordsOfSel(told, { kind: 'step', step: 'a' })).toEqual([2, 3]);
  expect(recordsOfSel(told, { kind: 'run', run: 2 })).toEqual([4, 5]);
  expect(recordsOfSel(told, { kind: 'arc', from: 'a', index: 0 })).toEqual([3]);
  expect(recordsOfSel(told, { kind: 'rec', seq: 3 })).toEqual([3]);
  expect(recordsOfSel(told, { kind: 'step', step: 'nobody' })).toEqual([]);
});

test('records of a selection are walked along', () => {
  const told = story();
  expect(nextOfSel(told, { kind: 'step', step: 'b' }, 1, 1)).toBe(4);
  expect(nextOfSel(told, { kind: 'step', step: 'b' }, 4, 1)).toBe(5);
  expect(nextOfSel(told, { kind: 'step', step: 'b' }, 5, 1)).toBeNull();
  expect(nextOfSel(told, { kind: 'step', step: 'a' }, 6, -1)).toBe(3);
});

test('an execution opens where people look: an incident, then a failure, then what waits, then what runs', () => {
  const told = story();
  expect(firstSel(told, [{ step: 'c', reason: 'incident' }])).toEqual({ kind: 'step', step: 'c' });
  expect(firstSel(told, [{ step: 'c', reason: 'human' }])).toEqual({ kind: 'step', step: 'b' });
  const half = new StoryStore();
  half.append({ ...FRAMES, dt: [0, 1], delta: FRAMES.delta.slice(0, 2) });
  expect(
    firstSel(half, [
      { step: 'c', reason: 'timer' },
      { step: 'd', reason: 'human' },
    ]),
  ).toEqual({ kind: 'step', step: 'd' });
  expect(firstSel(half, [])).toEqual({ kind: 'step', step: 'a' });
  expect(firstSel(new StoryStore(), [])).toBeNull();
});
