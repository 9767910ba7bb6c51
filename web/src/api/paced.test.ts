import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Paced } from './paced';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

test('the first is taken at once, those behind it together, in order, and nothing is lost', () => {
  const taken: number[][] = [];
  const paced = new Paced<number>(100, (all) => taken.push(all));
  paced.push(1);
  expect(taken).toEqual([[1]]);
  for (const one of [2, 3, 4]) paced.push(one);
  vi.advanceTimersByTime(99);
  expect(taken).toEqual([[1]]);
  vi.advanceTimersByTime(1);
  expect(taken).toEqual([[1], [2, 3, 4]]);
  paced.push(5);
  vi.advanceTimersByTime(110);
  expect(taken).toEqual([[1], [2, 3, 4], [5]]);
});

test('after a silence one is taken at once again', () => {
  const taken: number[][] = [];
  const paced = new Paced<number>(100, (all) => taken.push(all));
  paced.push(1);
  vi.advanceTimersByTime(1000);
  paced.push(2);
  expect(taken).toEqual([[1], [2]]);
});

test('once it has ended nothing is taken', () => {
  const taken: number[][] = [];
  const paced = new Paced<number>(100, (all) => taken.push(all));
  paced.push(1);
  paced.push(2);
  paced.end();
  vi.advanceTimersByTime(1000);
  expect(taken).toEqual([[1]]);
});

test('where it takes long to take them, the more come together', () => {
  const taken: number[][] = [];
  const paced = new Paced<number>(100, (all) => {
    taken.push(all);
    clock += 200;
  });
  let clock = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => clock);
  paced.push(1);
  paced.push(2);
  vi.advanceTimersByTime(599);
  expect(taken).toEqual([[1]]);
  vi.advanceTimersByTime(1);
  expect(taken).toEqual([[1], [2]]);
});
