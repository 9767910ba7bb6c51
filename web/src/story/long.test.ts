/** A story that is not held whole tells the same as one that is. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Frames } from './frames';
import { heldOf } from './held';
import { Names } from './names';
import { Overview } from './overview';
import { StoryStore } from './store';
import { Stretch } from './stretch';
import { binned, livedFrames, part } from './testing';

interface Fixture {
  name: string;
  frames: Frames;
  bins: Frames;
}

const FIXTURES = JSON.parse(
  readFileSync(new URL('../../tests/fixtures/stories.json', import.meta.url), 'utf8'),
) as Fixture[];
const HELD = { records: 64, block: 16, blocks: 2, bins: 40 };

function whole(frames: Frames): StoryStore {
  const story = new StoryStore();
  story.append(frames);
  return story;
}

/** A story of which only the end is held, and that asks for the rest as a page does. */
function long(frames: Frames, bins: Frames, held = HELD) {
  const asked: string[] = [];
  const story = new StoryStore(held, async (after, until) => {
    asked.push(`${after}..${until}`);
    return part(frames, after, until);
  });
  story.outline(bins);
  story.append(part(frames, story.version, frames.dt.length));
  return { story, asked };
}

function same(one: StoryStore, other: StoryStore, seq: number): void {
  expect([...one.markingAt(seq)], `marking at ${seq}`).toEqual([...other.markingAt(seq)]);
  expect(one.passedAt(seq), `passed at ${seq}`).toEqual(other.passedAt(seq));
  for (const step of other.steps) {
    expect(one.stepAt(seq, step), `${step} at ${seq}`).toEqual(other.stepAt(seq, step));
    expect(one.begunBy(step, seq)).toBe(other.stepAt(seq, step).started);
    const [bar, wanted] = [one.lastBar(step, seq), other.lastBar(step, seq)];
    expect(bar?.run, `last run of ${step} at ${seq}`).toBe(wanted?.run);
    if (wanted && wanted.last <= seq) {
      expect(bar?.to).toBeCloseTo(wanted.to, 2);
      expect(bar?.from).toBeCloseTo(wanted.from, 2);
    }
  }
}

describe.each(FIXTURES.filter((one) => one.bins.seq).map((one) => [one.name, one] as const))(
  'the bins of %s',
  (_, { frames, bins }) => {
    test('tell at their ends what all records up to there do', () => {
      const names = new Names();
      names.learn(bins);
      const overview = new Overview(names, bins);
      const exact = new Stretch(names);
      exact.append(frames);
      for (const end of overview.ends) {
        const [told, wanted] = [overview.baseAt(end), exact.baseAt(end)];
        expect([...told.marking]).toEqual([...wanted.marking]);
        expect([...told.taken]).toEqual([...wanted.taken]);
        expect(told.time).toBeCloseTo(wanted.time, 2);
        for (const [step, { counts, bar }] of wanted.steps) {
          expect(told.steps.get(step)?.counts, `${step} at ${end}`).toEqual(counts);
          const found = told.steps.get(step)?.bar;
          expect([found?.run, found?.first, found?.last, found?.state]).toEqual([
            bar?.run,
            bar?.first,
            bar?.last,
            bar?.state,
          ]);
        }
      }
    });
  },
);

describe.each([1, 2, 3])('random records %i', (seed) => {
  const frames = livedFrames(seed, 900);
  const exact = whole(frames);
  const bins = binned(frames, 64);

  test('are told the same wherever somebody looks, and few of them are held', async () => {
    const { story } = long(frames, bins);
    expect(story.isWhole).toBe(false);
    expect(story.version).toBe(900);
    for (let seq = 7; seq <= 900; seq += 31) {
      await story.want(seq);
      expect(story.has(seq)).toBe(true);
      same(story, exact, seq);
      expect([story.typeOf(seq), story.stepOf(seq)]).toEqual([exact.typeOf(seq), exact.stepOf(seq)]);
      expect(story.timeOf(seq)).toBeCloseTo(exact.timeOf(seq), 3);
      expect(story.deltaOf(seq)).toEqual(exact.deltaOf(seq));
    }
    const held = Array.from({ length: 900 }, (_, n) => n + 1).filter((seq) => story.holds(seq));
    expect(held.length).toBeLessThanOrEqual((3 + HELD.blocks) * HELD.block);
  });

  test('are known at the ends of bins without a question', () => {
    const { story, asked } = long(frames, bins);
    for (const end of bins.seq!) same(story, exact, end);
    expect(story.near(1)).toBe(bins.seq![0]);
    expect(story.near(bins.seq![3]! + 1)).toBe(bins.seq![3]);
    expect(asked).toEqual([]);
  });

  test('are let go as more come, and nothing is lost', async () => {
    const story = new StoryStore(HELD, async (after, until) => part(frames, after, until));
    let most = 0;
    for (let seq = 0; seq < 900; seq += 9) {
      story.append(part(frames, seq, seq + 9));
      if (story.isTooLong) story.outline(binned(part(frames, 0, story.version), 64));
      most = Math.max(most, story.version - story.tailAfter);
      same(story, exact, story.version);
    }
    expect(most).toBeLessThanOrEqual(HELD.records + 9);
    expect(story.tailAfter).toBeGreaterThan(840);
    await story.want(5);
    same(story, exact, 5);
  });

  test('have their runs in bands, and one by one where they are held', async () => {
    const { story } = long(frames, bins);
    await story.want(100);
    for (const step of exact.steps) {
      const bars = exact.barsOf(step);
      for (const bar of bars) {
        const covered = story
          .bandsOf(step)
          .some((band) => band.from <= bar.from + 0.01 && band.to >= bar.from - 0.01);
        expect(covered || bar.first > story.tailAfter, `run ${bar.run}`).toBe(true);
      }
      for (const bar of story.barsOf(step)) {
        const real = exact.barOf(bar.run)!;
        expect([bar.step, bar.first <= real.last || real.last === 0]).toEqual([real.step, true]);
        if (bar.state !== 'beyond' && bar.last)
          expect([bar.last, bar.state]).toEqual([real.last, real.state]);
      }
    }
  });
});

test('what is asked for twice is fetched once; what could not be fetched is asked for again', async () => {
  const frames = livedFrames(4, 400);
  const bins = binned(frames, 64);
  const { story, asked } = long(frames, bins);
  await Promise.all([story.want(50), story.want(51), story.want(50)]);
  await story.want(52);
  expect(asked).toHaveLength(1);
  await story.want(401);
  await story.want(0);
  expect(asked, 'there are no such records').toHaveLength(1);
  let fails = true;
  const other = new StoryStore(HELD, async (after, until) => {
    if (fails) throw new Error('away');
    return part(frames, after, until);
  });
  other.outline(bins);
  other.append(part(frames, other.version, 400));
  await other.want(50);
  expect(other.holds(50)).toBe(false);
  fails = false;
  await other.want(50);
  expect(other.holds(50)).toBe(true);
});

test('an overview that was overtaken by a later one is not taken', () => {
  const frames = livedFrames(5, 400);
  const { story } = long(frames, binned(frames, 64));
  story.outline(binned(part(frames, 0, 200), 32));
  expect(story.overview?.version).toBe(400);
});

test('how much is held is said in one number', () => {
  expect(heldOf(200_000)).toEqual({ records: 200_000, block: 8333, blocks: 8, bins: 2000 });
  expect(heldOf(200).bins).toBe(50);
});
