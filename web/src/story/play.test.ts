import { expect, test } from 'vitest';
import { beat, FoldedTime, GAP_MS } from './play';
import { StoryStore } from './store';
import { randomFrames } from './testing';

const BUSY = [0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000];

test('without idle stretches, time is time', () => {
  const scale = new FoldedTime(BUSY, 1000);
  expect(scale.folds).toEqual([]);
  expect(scale.at(500)).toBeCloseTo(0.5);
  expect(scale.time(0.25)).toBeCloseTo(250);
});

test('two idle hours take little room, and what is around them the rest', () => {
  const later = 7_200_000;
  const times = [...BUSY, ...BUSY.map((one) => one + later)];
  const scale = new FoldedTime(times, later + 1000);
  expect(scale.folds).toEqual([{ from: 1000, to: later }]);
  expect(scale.at(later) - scale.at(1000)).toBeLessThan(0.1);
  expect(scale.at(1000)).toBeGreaterThan(0.4);
});

test.each([0, 0.1, 0.33, 0.5, 0.52, 0.9, 1])('%f of the way is there and back', (share) => {
  const times = [...BUSY, ...BUSY.map((one) => one + 9_000_000)];
  const scale = new FoldedTime(times, 9_001_000);
  expect(scale.at(scale.time(share))).toBeCloseTo(share, 6);
});

test('it never goes back', () => {
  const times = [0, 10, 50_000, 50_010, 900_000];
  const scale = new FoldedTime(times, 900_000);
  let before = -1;
  for (let time = 0; time <= 900_000; time += 1234) {
    expect(scale.at(time)).toBeGreaterThanOrEqual(before);
    before = scale.at(time);
  }
});

test('what took no time, and then was idle, fills the scale to its end', () => {
  for (const times of [[0], [0, 0.02], [0, 0.02, 0.3]]) {
    const scale = new FoldedTime(times, 25_000);
    expect(scale.folds).toHaveLength(1);
    expect(scale.at(25_000)).toBeCloseTo(1);
    expect(scale.at(scale.time(0.5))).toBeCloseTo(0.5);
  }
});

test('one record, or none, is a scale too', () => {
  expect(new FoldedTime([], 0).at(5)).toBeGreaterThanOrEqual(0);
  expect(new FoldedTime([7], 7).at(7)).toBe(0);
});

test('a gap is as long as it was, faster, or no longer than half a second; at no speed all gaps are alike', () => {
  const story = new StoryStore();
  story.append({ ...randomFrames(1, 4), dt: [0, 40, 9000, 0] });
  expect([1, 2, 3].map((seq) => beat(story, seq, 1))).toEqual([40, GAP_MS, 0]);
  expect([1, 2, 3].map((seq) => beat(story, seq, 100))).toEqual([0.4, 90, 0]);
  expect([1, 2, 3].map((seq) => beat(story, seq, 0))).toEqual([GAP_MS, GAP_MS, GAP_MS]);
});
