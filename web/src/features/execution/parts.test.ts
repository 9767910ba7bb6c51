import { expect, test } from 'vitest';
import type { Frames, Graph, Json, WaitingTold, Write } from '../../api/shapes';
import { FoldedTime } from '../../story/play';
import { type StepFacts, StoryStore } from '../../story/store';
import { beadAt, pathOf } from '../../viewer/ArcEdge';
import { byStep, lookOfStep, tokenOfBar } from '../../viewer/looks';
import {
  cellAt,
  cellBeside,
  cellInWords,
  cellsOf,
  gridOf,
  msOf,
  nextIn,
  nextSlow,
  stateAt,
  tallyOf,
  unpacked,
} from '../../viewer/maps';
import { marksOf, scaleOf } from '../../viewer/marks';
import { neighbour } from '../../viewer/walk';
import { chunkOf, shownRecords } from './log/rows';
import { isChanged } from './side/CtxTab';
import { tallied } from './side/SelectionTab';
import { barAt, lanesOf, spanOf } from './timeline/lanes';
import { caughtUp, isThrough, pastOf } from './useStory';
import { writersBy } from './useWrites';

function frames(version: number): Frames {
  const cycle = (n: number) => n % 4;
  return {
    first: 1,
    at0: 0,
    version,
    places: [
      { step: 'a', kind: 'ready', arc: null },
      { step: 'a', kind: 'running', arc: null },
    ],
    types: ['step.started', 'attempt.started', 'step.done', 'step.failed'],
    steps: ['a'],
    dt: Array.from({ length: version }, (_, n) => (n ? 10 : 0)),
    type: Array.from({ length: version }, (_, n) => [0, 1, 2, 1][cycle(n)]!),
    step: Array.from({ length: version }, () => 0),
    run: Array.from({ length: version }, (_, n) => (cycle(n) === 3 ? 0 : Math.floor(n / 4) + 1)),
    flag: Array.from({ length: version }, (_, n) => (n % 10 === 9 ? 1 : 0)),
    delta: Array.from({ length: version }, () => []),
  } as unknown as Frames;
}

function told(version: number): StoryStore {
  const story = new StoryStore();
  story.append(frames(version));
  return story;
}

const FACTS: StepFacts = {
  started: 1,
  done: 0,
  failed: 0,
  retries: 0,
  parts: 0,
  decided: 0,
  active: 0,
  ready: 0,
  last: 1,
  lastFailed: false,
};
const WAITS = { reason: 'human' } as WaitingTold;

test.each([
  [{ active: 1 }, undefined, 'running'],
  [{ active: 1 }, WAITS, 'waiting'],
  [{ active: 1 }, { ...WAITS, reason: 'incident' }, 'stuck'],
  [{ active: 1 }, { ...WAITS, reason: 'worker' }, 'running'], // it is what a worker is busy with
  [{ active: 1 }, { ...WAITS, reason: 'no worker' }, 'waiting'],
  [{ ready: 1 }, undefined, 'ready'],
  [{ failed: 1, lastFailed: true }, undefined, 'failed'],
  [{ failed: 1, done: 1 }, undefined, 'done'],
  [{ done: 1, parts: 2 }, undefined, 'partial'],
  [{}, undefined, 'withdrawn'],
  [{ started: 0 }, undefined, 'idle'],
  [{ done: 1 }, WAITS, 'done'],
])('a step with %j looks %s', (facts, waiting, status) => {
  expect(lookOfStep({ ...FACTS, ...facts }, waiting).status).toBe(status);
});

test('marks are few, however many records are marked, and the worst stay', () => {
  const story = told(40_000);
  const marks = marksOf(story, scaleOf(story, null).place);
  expect(marks.length).toBeLessThanOrEqual(241);
  expect(marks[0]?.name).toBe('failure');
});

test('a place on the track is a record and back', () => {
  const story = told(101);
  const scale = scaleOf(story, null);
  for (const seq of [1, 2, 50, 101]) expect(scale.seq(scale.place(seq))).toBe(seq);
  const time = scaleOf(story, new FoldedTime(story.moments, 1000));
  for (const seq of [1, 2, 50, 101]) expect(time.seq(time.place(seq) + 1e-9)).toBe(seq);
  const one = scaleOf(told(1), null);
  expect([one.place(1), one.seq(0.5)]).toEqual([1, 1]);
});

test('the log shows what a selection is about, and a record among the others', () => {
  const story = told(40);
  expect(shownRecords(story, null, 'all')).toHaveLength(40);
  expect(shownRecords(story, { kind: 'run', run: 1 }, 'all')).toEqual([1, 2, 3]);
  expect(shownRecords(story, { kind: 'run', run: 1 }, 'important')).toEqual([3]);
  expect(shownRecords(story, { kind: 'rec', seq: 2 }, 'important')).toContain(2);
  expect([chunkOf(1), chunkOf(200), chunkOf(201)]).toEqual([0, 0, 1]);
});

test('a lane has its bars, as far as the record goes', () => {
  const story = told(40);
  expect(lanesOf(story, 1)[0]?.bars).toHaveLength(1);
  expect(lanesOf(story, 40)[0]?.bars).toHaveLength(10);
  const scale = new FoldedTime(story.moments, 390);
  const [bar] = story.bars;
  const open = spanOf(story, bar!, 2, scale);
  expect(open.isOpen).toBe(true);
  const closed = spanOf(story, bar!, 40, scale);
  expect(closed.isOpen).toBe(false);
  expect(barAt([closed], closed.from, 0)).toBe(bar);
  expect(barAt([closed], 0.9, 0)).toBeNull();
});

const base64 = (values: ArrayBufferView) => Buffer.from(values.buffer).toString('base64');
const MAP = {
  count: 4,
  state: base64(Uint8Array.of(2, 3, 1, 0)),
  ms: base64(Uint16Array.of(2048, 4096, 0, 0)),
  first: base64(Uint32Array.of(2, 2, 5, 0)),
  last: base64(Uint32Array.of(4, 6, 0, 0)),
};

test('iterations are shown as they were', () => {
  const turns = unpacked(MAP);
  const at = (seq: number) => [0, 1, 2, 3].map((n) => stateAt(turns, n, seq));
  expect(at(1)).toEqual([0, 0, 0, 0]);
  expect(at(3)).toEqual([1, 1, 0, 0]);
  expect(at(4)).toEqual([2, 1, 0, 0]);
  expect(at(9)).toEqual([2, 3, 1, 0]);
  expect(msOf(2048)).toBeCloseTo(1);
  const tally = tallyOf(turns, 9);
  expect(tally.counts).toEqual([1, 1, 1, 1, 0]);
  expect(tally.p95).toBeCloseTo(3);
  expect(nextIn(turns, 9, -1, 3)).toBe(1);
  expect(nextIn(turns, 3, 0, 3)).toBe(-1);
  expect(nextSlow(turns, 9, -1, 3)).toBe(1);
  expect(nextSlow(turns, 9, -1, 4)).toBe(-1);
  const cells = cellsOf(turns, 9);
  const words = [0, 1, 2, 3].map((cell) => cellInWords(turns, cells, cell, 9));
  expect(words).toEqual(['0: ok, 1 ms', '1: failed, 3 ms', '2: in flight', '3: to go']);
});

test('very many iterations share cells, and the worst of them is seen', () => {
  const count = 50_000;
  const state = new Uint8Array(count).fill(2);
  state[40_001] = 3;
  const turns = {
    count,
    state,
    shade: new Uint16Array(count),
    first: new Uint32Array(count).fill(1),
    last: new Uint32Array(count).fill(2),
    rows: [],
  };
  const cells = cellsOf(turns, 5);
  expect(cells.each).toBe(4);
  expect(cells.state[10_000]).toBe(3);
  expect([...cells.state].filter((one) => one === 3)).toHaveLength(1);
  expect(gridOf(100, [], 400).size).toBe(14);
  expect(gridOf(10_000, [], 400).size).toBe(3);
});

test('a nested loop has its outer iterations on lines of their own, and every cell is found again', () => {
  const grid = gridOf(9, [3, 2, 4], 400);
  expect([...grid.line]).toEqual([0, 0, 0, 1, 1, 2, 2, 2, 2]);
  expect([...grid.column]).toEqual([0, 1, 2, 0, 1, 0, 1, 2, 3]);
  expect(grid.begins).toEqual([0, 1, 2]);
  for (let n = 0; n < 9; n++) expect(cellAt(grid, grid.column[n]!, grid.line[n]!)).toBe(n);
  expect(cellAt(grid, 3, 0)).toBe(-1);
  expect(cellAt(grid, 0, 9)).toBe(-1);
  expect(['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight'].map((key) => cellBeside(grid, 4, key))).toEqual([
    1, 6, 3, 5,
  ]);
  expect(cellBeside(grid, 2, 'ArrowDown')).toBe(4);
  expect(cellBeside(grid, 8, 'ArrowDown')).toBe(8);
  expect(cellBeside(grid, -1, 'ArrowRight')).toBe(0);
});

test('rows that do not add up, and rows of nothing, are laid out anyhow', () => {
  expect(gridOf(5, [9, 9], 400).lines).toBe(1);
  expect(gridOf(4, [4, 0], 400).lines).toBe(2);
  expect(gridOf(0, [], 400).lines).toBe(1);
  const wide = gridOf(1000, [500, 500], 136);
  expect(new Set([...wide.line].map((line, n) => `${line} ${wide.column[n]}`)).size).toBe(1000);
});

const GRAPH: Graph = {
  lens: 'step',
  width: 1,
  height: 1,
  nodes: ['a', 'b', 'c'].map((id, n) => ({
    id,
    step: id,
    kind: 'step',
    x: n * 200,
    y: n ? 100 : 0,
    w: 180,
    h: 56,
  })),
  arcs: [
    {
      from: 'a',
      to: 'b',
      points: [
        [0, 0],
        [0, 50],
      ],
      backward: false,
      index: 0,
    },
    {
      from: 'a',
      to: 'c',
      points: [
        [0, 0],
        [0, 50],
      ],
      backward: false,
      index: 1,
    },
  ],
};

test('arrow keys walk along arcs and levels', () => {
  expect(neighbour(GRAPH, 'a', 'ArrowDown')).toBe('b');
  expect(neighbour(GRAPH, 'c', 'ArrowUp')).toBe('a');
  expect(neighbour(GRAPH, 'b', 'ArrowRight')).toBe('c');
  expect(neighbour(GRAPH, 'b', 'ArrowLeft')).toBeNull();
  expect(neighbour(GRAPH, 'nobody', 'ArrowDown')).toBeNull();
});

test('an arc is its points, and its bead sits before the end', () => {
  expect(
    pathOf([
      [0, 0],
      [0, 100],
    ]),
  ).toBe('M0,0 L0,100');
  expect(
    beadAt([
      [0, 0],
      [0, 100],
    ]),
  ).toEqual([0, 84]);
});

test('a story is caught up in parts, whatever their size', async () => {
  const all = frames(25);
  const story = new StoryStore();
  const asked: number[] = [];
  await caughtUp(story, async (after) => {
    asked.push(after);
    const end = after + 10;
    return {
      ...all,
      first: after + 1,
      dt: all.dt.slice(after, end),
      type: all.type.slice(after, end),
      step: all.step.slice(after, end),
      run: all.run.slice(after, end),
      flag: all.flag.slice(after, end),
      delta: all.delta.slice(after, end),
    };
  });
  expect([asked, story.version]).toEqual([[0, 10, 20], 25]);
});

test('a stream goes on until the last record of what is over is here', () => {
  const head = { status: 'completed', version: 10, reason: '' };
  expect(isThrough(head, 7)).toBe(false); // it was asked whether it is over before the last records came
  expect(isThrough(head, 10)).toBe(true);
  expect(isThrough({ ...head, status: 'waiting' }, 10)).toBe(false);
  expect(isThrough(undefined, 0)).toBe(false);
});

test('a run of which a part failed has the colour of that, once it is done', () => {
  const story = new StoryStore();
  const told = {
    ...frames(3),
    types: ['step.started', 'loop.iterations.ended', 'loop.done'],
    type: [0, 1, 2],
    run: [1, 1, 1],
    flag: [0, 1, 0],
  } as unknown as Frames;
  story.append(told);
  expect(tokenOfBar(story, story.barOf(1)!)).toBe('partial');
  const whole = new StoryStore();
  whole.append({ ...told, flag: [0, 0, 0] });
  expect(tokenOfBar(whole, whole.barOf(1)!)).toBe('done');
});

test('of a step that ran once its state says enough; of others it is counted what became of them', () => {
  const facts = { started: 1, done: 1, failed: 0, active: 0, ready: 0, retries: 0 } as StepFacts;
  expect(tallied(facts)).toEqual([]);
  expect(tallied({ ...facts, retries: 2 })).toEqual(['1 started', '1 done', '2 tried again']);
  expect(tallied({ ...facts, started: 1200, done: 1199, active: 1 })).toEqual([
    '1,200 started',
    '1,199 done',
    '1 under way',
  ]);
});

test('the past of a fork of a fork reaches back to the first; a circle comes to an end', async () => {
  const origins: Record<string, { id: string; at: number; reason: string } | null> = {
    c: { id: 'b', at: 3, reason: '' },
    b: { id: 'a', at: 2, reason: '' },
    a: null,
    round: { id: 'round', at: 1, reason: '' },
  };
  const asked: string[] = [];
  const calls = {
    lineage: async (id: string) => ({ origin: origins[id] ?? null }),
    frames: async (id: string, after: number, until?: number) => {
      asked.push(`${id} ${after} ${until}`);
      const all = { ...frames(until ?? 4), types: ['execution.forked', 'step.started', 'step.done', ''] };
      return id === 'a' ? frames(until ?? 4) : (all as Frames);
    },
  } as unknown as Parameters<typeof pastOf>[1];
  const past = await pastOf('c', calls);
  expect(asked).toEqual(['b 0 3', 'a 0 2']);
  expect(past?.at).toBe(3);
  expect(past?.story.before('a')?.started).toBe(1);
  expect(await pastOf('a', calls)).toBeNull();
  expect(await pastOf('round', calls)).not.toBeNull();
});

test('the next part is asked for while the one before is read', async () => {
  const story = new StoryStore();
  const whole = frames(6);
  const asked: { after: number; version: number }[] = [];
  await caughtUp(story, async (after) => {
    asked.push({ after, version: story.version });
    const cut = <T>(column: readonly T[]) => column.slice(after, after + 2);
    return {
      ...whole,
      first: after + 1,
      version: 6,
      dt: cut(whole.dt),
      type: cut(whole.type),
      step: cut(whole.step),
      run: cut(whole.run),
      flag: cut(whole.flag),
      delta: cut(whole.delta),
    };
  });
  expect(asked).toEqual([
    { after: 0, version: 0 },
    { after: 2, version: 0 },
    { after: 4, version: 2 },
  ]);
  expect(story.version).toBe(6);
});

test('the runs of a step by a record are found however many there are', () => {
  const story = told(400);
  for (const seq of [0, 1, 4, 5, 399, 400]) {
    const begun = story.barsOf('a').filter((bar) => bar.first <= seq);
    expect(story.begunBy('a', seq)).toBe(begun.length);
    expect(story.lastBar('a', seq)).toBe(begun.at(-1));
  }
  expect(story.begunBy('nowhere', 400)).toBe(0);
});

test('a variable was changed by a record if it was another one before it, or none', () => {
  const now = { seq: 7, ctx: { a: [1], b: 2, c: 3 } };
  const changed = (before: { seq: number; ctx: Record<string, Json> } | undefined) =>
    Object.keys(now.ctx).filter((name) => isChanged(before, now, name));
  expect(changed({ seq: 6, ctx: { a: [1], b: 1 } })).toEqual(['b', 'c']);
  expect(changed({ seq: 4, ctx: {} })).toEqual([]); // that of another record, which is about to be replaced
  expect(changed(undefined)).toEqual([]);
});

test('those who wrote a variable are marked up to the record that is shown', () => {
  const write = (seq: number, step: string | null) => ({ seq, step }) as Write;
  const writes = [write(2, 'a'), write(5, null), write(9, 'b')];
  expect([...writersBy(writes, 8)]).toEqual(['a']);
  expect([...writersBy(writes, 9)]).toEqual(['a', 'b']);
  expect(writersBy(null, 9).size).toBe(0);
});

test('of several runs of a step an incident is told first, then what waits, then what runs', () => {
  const why = (...reasons: string[]) => {
    const all = reasons.map((reason) => ({ step: 'a', reason }));
    return [byStep(all), byStep(all.reverse())].map((found) => found.get('a')?.reason);
  };
  expect(why('worker', 'incident', 'human')).toEqual(['incident', 'incident']);
  expect(why('worker', 'human')).toEqual(['human', 'human']);
  expect(why('room', 'worker')).toEqual(['worker', 'worker']);
  expect(
    byStep([
      { step: 'a', reason: 'gate' },
      { step: 'b', reason: 'join' },
    ]).size,
  ).toBe(2);
});
