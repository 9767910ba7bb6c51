import { expect, test } from 'vitest';
import type { Frames } from '../../../api/shapes';
import type { Sel } from '../../../story/sel';
import { StoryStore } from '../../../story/store';
import { binned, livedFrames, part } from '../../../story/testing';
import { filled } from '../useStory';
import { aboutInWords, CountedRows, FoldedRows, type Level, saidOf, shownRecords, toldRecords } from './rows';

const HELD = { records: 64, block: 32, blocks: 2, bins: 64 };
const LENGTH = 700;
const SELECTED: (Sel | null)[] = [
  null,
  { kind: 'step', step: 's1' },
  { kind: 'run', run: 40 },
  { kind: 'arc', from: 's0', index: 2 },
];

/** The calls of a server that has such a story, and what it was asked for. */
function serving(frames: ReturnType<typeof livedFrames>) {
  const asked: string[] = [];
  const call = async (_: string, after: number, until?: number, bins?: number) => {
    asked.push(`${after}..${until ?? ''}${bins ? ` in ${bins}` : ''}`);
    return bins ? binned(frames, bins) : part(frames, after, Math.min(until ?? LENGTH, LENGTH));
  };
  return { frames: call as never, asked };
}

async function stories(seed: number) {
  const frames = livedFrames(seed, LENGTH);
  const whole = new StoryStore();
  whole.append(frames);
  const calls = serving(frames);
  const story = new StoryStore(HELD, async (after, until) => part(frames, after, until));
  await filled(story, calls, 'x');
  return { whole, story, asked: calls.asked };
}

test('a long story is fetched as an overview and its end', async () => {
  const { story, asked } = await stories(1);
  expect(asked).toEqual(['0..32', '0.. in 64', '656..']);
  expect([story.version, story.tailAfter, story.isWhole]).toEqual([LENGTH, 656, false]);
});

test.each(['all', 'important'] as Level[])(
  'rows of %s records are those that all records give',
  async (level) => {
    const { whole, story } = await stories(2);
    for (const sel of SELECTED) {
      const wanted = shownRecords(whole, sel, level);
      const size = story.overview!.size;
      const counts = Array.from(
        { length: story.tailAfter / size },
        (_, n) => wanted.filter((seq) => seq > n * size && seq <= (n + 1) * size).length,
      );
      const rows = () => new CountedRows(story, sel, level, { size, counts });
      expect(rows().length).toBe(wanted.length);
      for (let n = 0; n < wanted.length; n += 13) {
        const needed = rows().neededFor(n);
        if (needed !== null) await story.want(needed);
        expect(rows().at(n), `row ${n}`).toBe(wanted[n]);
        expect(rows().upTo(wanted[n]!)).toBe(n);
      }
      expect(rows().at(wanted.length)).toBeUndefined();
    }
  },
);

test('a row that is not held is blank, and says what it needs', async () => {
  const { story } = await stories(3);
  const size = story.overview!.size;
  const rows = new CountedRows(story, null, 'all', {
    size,
    counts: Array.from({ length: story.tailAfter / size }, () => size),
  });
  expect([rows.at(300), rows.neededFor(300)]).toEqual([undefined, 289]);
  expect([rows.at(LENGTH - 1), rows.neededFor(LENGTH - 1)]).toEqual([LENGTH, null]);
});

/** Records of a loop: begun, eight turns of which one failed, done. */
function turning(): StoryStore {
  const types = ['step.started', 'loop.iterations.started', 'loop.iterations.ended', 'loop.done'];
  const type = [0, 1, 2, 1, 2, 2, 1, 2, 1, 1, 2, 2, 3];
  const none = type.map(() => 0);
  const story = new StoryStore();
  story.append({
    ...{ first: 1, at0: 0, version: type.length, places: [], types, steps: ['each'], dt: none, type },
    ...{ step: none, run: none, flag: none.map((_, n) => (n === 6 ? 1 : 0)), delta: type.map(() => []) },
  } as unknown as Frames);
  return story;
}

const seqsOf = (rows: FoldedRows) => Array.from({ length: rows.length }, (_, n) => rows.at(n));

test('records of one kind that follow each other stand as one row; a failure among them stands by itself', () => {
  const story = turning();
  const rows = new FoldedRows(story, shownRecords(story, null, 'all'), new Set(), 0);
  expect(seqsOf(rows)).toEqual([1, 2, 7, 8, 13]);
  expect([...rows.folds]).toEqual([
    [2, { count: 5, last: 6 }],
    [8, { count: 5, last: 12 }],
  ]);
  expect([rows.upTo(5), rows.upTo(12), rows.upTo(13)]).toEqual([1, 3, 4]);
});

test('where no record of a selection is important, all of it are shown', () => {
  const story = turning();
  const none = { kind: 'step', step: 'other' } as const;
  expect(toldRecords(story, none, 'important')).toEqual([]);
  expect(toldRecords(story, { kind: 'step', step: 'each' }, 'important')).toEqual([7, 13]);
  const begun = new StoryStore();
  const frames = { first: 1, at0: 0, version: 2, places: [], types: ['step.started', 'attempt.ended'] };
  begun.append({
    ...frames,
    ...{
      steps: ['each'],
      dt: [0, 0],
      type: [0, 1],
      step: [0, 0],
      run: [1, 1],
      flag: [0, 0],
      delta: [[], []],
    },
  } as unknown as Frames);
  expect(toldRecords(begun, { kind: 'step', step: 'each' }, 'important')).toEqual([1, 2]);
  expect(toldRecords(begun, null, 'important')).toEqual([]);
});

test('a row that is opened shows each, and so does the one with the record that is selected', () => {
  const story = turning();
  const all = shownRecords(story, null, 'all');
  expect(seqsOf(new FoldedRows(story, all, new Set([2]), 0))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 13]);
  expect(seqsOf(new FoldedRows(story, all, new Set(), 10))).toEqual([1, 2, 7, 8, 9, 10, 11, 12, 13]);
  expect(new FoldedRows(story, all, new Set(), 2).folds.has(2)).toBe(true);
});

test.each([
  [null, 'everything'],
  [{ kind: 'step', step: 'pay' }, 'step pay'],
  [{ kind: 'iter', run: 4, n: 2 }, 'run 4'],
  [{ kind: 'arc', from: 'pay', index: 1 }, 'arc 2 of pay'],
  [{ kind: 'ctx', key: 'total' }, 'ctx.total'],
  [{ kind: 'rec', seq: 3 }, 'everything'], // it stands among all others
] as [Sel | null, string][])('of %j the log is one of %s', (sel, words) => {
  expect(aboutInWords(sel)).toBe(words);
});

test.each([
  ['step.done', 'pay', 'step.done pay → ship', '→ ship'],
  ['step.failed', 'pay', 'step.failed pay; timeout: too slow', 'timeout: too slow'],
  ['step.started', 'pay', 'step.started pay', ''],
  ['step.started', 'pay', 'step.started pay (compensation)', '(compensation)'],
  ['loop.iterations.ended', 'pay', 'loop.iterations.ended 3 ended', '3 ended'],
  ['ctx.patched', null, 'ctx.patched total = 3', 'total = 3'],
  ['note.made', 'pay', 'note.made payment is due', 'payment is due'], // another word that begins alike
])('a row of %s at %s says what its other columns do not: %s', (type, step, text, said) => {
  expect(saidOf({ type, step, text })).toBe(said);
});
