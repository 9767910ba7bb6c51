import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Frames } from './frames';
import { lastAtMost, StoryStore } from './store';
import { part, randomFrames } from './testing';

interface Fixture {
  name: string;
  frames: Frames;
  markings: Record<string, number>[];
  runs: { n: number; step: string; state: string; first: number; last: number }[];
}

const FIXTURES = JSON.parse(
  readFileSync(new URL('../../tests/fixtures/stories.json', import.meta.url), 'utf8'),
) as Fixture[];

function told(frames: Frames): StoryStore {
  const story = new StoryStore();
  expect(story.append(frames)).toBe(true);
  return story;
}

function named(story: StoryStore, marking: Int32Array): Record<string, number> {
  const found: Record<string, number> = {};
  story.places.forEach((place, n) => {
    const name = `${place.step}.${place.kind}`;
    if (marking[n]) found[name] = (found[name] ?? 0) + marking[n]!;
  });
  return found;
}

describe.each(FIXTURES.map((one) => [one.name, one] as const))('the story of %s', (_, fixture) => {
  test('has after every record the marking that replay finds', () => {
    const story = told(fixture.frames);
    fixture.markings.forEach((marking, n) => {
      expect(named(story, story.markingAt(n + 1))).toEqual(marking);
    });
  });

  test('has a bar for every run, begun and ended where the server says', () => {
    const story = told(fixture.frames);
    const bars = new Map(story.bars.map((bar) => [bar.run, bar]));
    for (const run of fixture.runs) {
      const bar = bars.get(run.n);
      if (!bar) continue; // of a past that was taken over in one record
      expect([bar.step, bar.first]).toEqual([run.step, run.first]);
      if (run.state === 'done' || run.state === 'failed')
        expect([bar.state, bar.last]).toEqual([run.state, run.last]);
    }
  });

  test('is the same in parts as in one piece', () => {
    const whole = told(fixture.frames);
    const story = new StoryStore();
    for (let at = 0; at < whole.version; at += 3) {
      expect(story.append(part(fixture.frames, at, Math.min(at + 3, whole.version)))).toBe(true);
    }
    expect(story.version).toBe(whole.version);
    expect(story.bars).toEqual(whole.bars);
    for (const [n, at] of story.moments.entries()) expect(at).toBeCloseTo(whole.moments[n]!, 3);
    expect([...story.markingAt(story.version)]).toEqual([...whole.markingAt(whole.version)]);
  });
});

describe.each([1, 2, 3, 4, 5])('random frames %i', (seed) => {
  const frames = randomFrames(seed, 1500);
  const story = told(frames);

  test('fold to the sums of what they say, from whichever checkpoint', () => {
    const sums = new Int32Array(6);
    for (let seq = 0; seq <= story.version; seq++) {
      if (seq > 0) {
        const delta = story.deltaOf(seq);
        for (let n = 0; n < delta.length; n += 2) sums[delta[n]!] = sums[delta[n]!]! + delta[n + 1]!;
      }
      if (seq % 37 === 0 || seq % 256 < 2 || seq === story.version)
        expect([...story.markingAt(seq)]).toEqual([...sums]);
    }
  });

  test('count for every step what its records say', () => {
    for (const seq of [1, 100, 255, 256, 257, 1000, 1500]) {
      for (const step of story.steps) {
        const own = Array.from({ length: seq }, (_, n) => n + 1).filter((one) => story.stepOf(one) === step);
        const facts = story.stepAt(seq, step);
        expect(facts.started).toBe(own.filter((one) => story.typeOf(one) === 'step.started').length);
        expect(facts.failed).toBe(own.filter((one) => story.typeOf(one) === 'step.failed').length);
        expect(facts.last).toBe(own.at(-1) ?? 0);
      }
    }
  });

  test('find the record of a moment', () => {
    for (const seq of [1, 2, 700, 1500]) {
      const found = story.seqAt(story.timeOf(seq));
      expect(story.timeOf(found)).toBe(story.timeOf(seq));
      expect(found).toBeGreaterThanOrEqual(seq);
    }
  });
});

test('records that came already change nothing', () => {
  const frames = randomFrames(9, 50);
  const story = told(frames);
  const before = [...story.markingAt(50)];
  expect(story.append(part(frames, 20, 50))).toBe(true);
  expect(story.version).toBe(50);
  expect([...story.markingAt(50)]).toEqual(before);
});

test('a gap is refused, and leaves everything as it was', () => {
  const frames = randomFrames(9, 50);
  const story = told(part(frames, 0, 10));
  expect(story.append(part(frames, 12, 50))).toBe(false);
  expect(story.version).toBe(10);
});

test('who listens hears of more, until they stop', () => {
  const frames = randomFrames(9, 50);
  const story = told(part(frames, 0, 10));
  let heard = 0;
  const stop = story.subscribe(() => {
    heard += 1;
  });
  const was = story.edition();
  story.append(part(frames, 10, 20));
  expect([heard, story.edition() !== was]).toEqual([1, true]);
  stop();
  story.append(part(frames, 20, 30));
  expect(heard).toBe(1);
});

test('binned frames are no story to go on with', () => {
  const story = new StoryStore();
  expect(() => story.append({ ...randomFrames(1, 3), seq: [1, 2, 3] })).toThrow(/bins/);
});

test.each([
  [[], 5, -1],
  [[1, 3, 5], 0, -1],
  [[1, 3, 5], 1, 0],
  [[1, 3, 5], 4, 1],
  [[1, 3, 5], 9, 2],
])('of %j the last that is at most %i is at %i', (numbers, most, at) => {
  expect(lastAtMost(numbers, most)).toBe(at);
});

test('the next of some records is found in both directions', () => {
  expect(StoryStore.next([2, 5, 9], 5, 1)).toBe(9);
  expect(StoryStore.next([2, 5, 9], 5, -1)).toBe(2);
  expect(StoryStore.next([2, 5, 9], 9, 1)).toBeNull();
  expect(StoryStore.next([2, 5, 9], 2, -1)).toBeNull();
  expect(StoryStore.next([2, 5, 9], 1, 1)).toBe(2);
});

test('what was done in a past that was taken over was done', () => {
  const past = new StoryStore();
  const fork = new StoryStore();
  const columns = (type: number[], delta: number[][]): Frames =>
    ({
      first: 1,
      at0: 0,
      version: type.length,
      places: [
        { step: 'a', kind: 'running', arc: null },
        { step: 'b', kind: 'ready', arc: ['a', 0] },
      ],
      types: ['step.started', 'step.done', 'execution.forked'],
      steps: ['a'],
      dt: type.map(() => 1),
      type,
      step: type.map(() => 0),
      run: type.map(() => 1),
      flag: type.map(() => 0),
      delta,
    }) as unknown as Frames;
  past.append(columns([0, 1, 0], [[0, 1], [0, -1, 1, 2], [0, 1]])); // biome-ignore format: columns
  fork.append(columns([2], [[1, 2]]));
  expect(fork.stepAt(1, 'a').done).toBe(0);
  expect(fork.before('a')).toBeNull();
  let told = 0;
  fork.subscribe(() => {
    told += 1;
  });
  fork.inherit(past, 2);
  expect(told).toBe(1);
  expect(fork.stepAt(1, 'a')).toMatchObject({ started: 1, done: 1, active: 0 });
  expect(fork.passedAt(1).get('a/0>b')).toBe(4);
  expect(fork.before('a')?.started).toBe(1);
});
