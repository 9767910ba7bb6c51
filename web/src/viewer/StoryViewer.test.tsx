// @vitest-environment jsdom
import { cleanup, fireEvent, screen } from '@testing-library/react';
import { useState } from 'react';
import { afterEach, beforeAll, expect, test } from 'vitest';
import type { Frames, Graph } from '../api/shapes';
import { makeBrowserParts, show } from '../kit/testing';
import { edgesOf, nodesOf } from './elements';
import { factOf, type StepNodeData } from './nodes';
import type { Picture } from './picture';
import { loopInWords } from './Ring';
import StoryViewer, { storyOf, stuckAt } from './StoryViewer';

beforeAll(() => {
  makeBrowserParts();
  const still = window.matchMedia;
  window.matchMedia = (query) => ({ ...still(query), matches: query.includes('reduced-motion: reduce') });
});
afterEach(cleanup);

/** a runs and hands a token to j, which waits for another. */
const FRAMES: Frames = {
  first: 1,
  seq: null,
  came: null,
  marked: null,
  marked_ms: null,
  gap: null,
  became: null,
  at0: 0,
  version: 3,
  places: [
    { step: 'a', kind: 'ready', arc: null },
    { step: 'a', kind: 'running', arc: null },
    { step: 'j', kind: 'ready', arc: ['a', 0] },
  ] as Frames['places'],
  types: ['execution.started', 'step.started', 'step.done'],
  steps: ['a', 'j'],
  dt: [0, 10, 10],
  type: [0, 1, 2],
  step: [-1, 0, 0],
  run: [0, 1, 1],
  flag: [0, 0, 0],
  delta: [
    [0, 1],
    [0, -1, 1, 1],
    [1, -1, 2, 1],
  ],
};
const GRAPH: Graph = {
  lens: 'step',
  width: 10,
  height: 10,
  nodes: ['a', 'j'].map((id) => ({ id, kind: 'task', x: 0, y: 0, w: 200, h: 50 })),
  arcs: [
    {
      from: 'a',
      to: 'j',
      index: 0,
      points: [
        [0, 0],
        [1, 1],
      ],
      backward: false,
    },
  ],
};

function pictureAt(seq: number, more: Partial<Picture> = {}): Picture {
  const story = storyOf(FRAMES);
  const shown = { id: '', story, edition: 3, seq, sel: null, step: null, select: () => undefined };
  return { ...shown, waiting: new Map(), ...more };
}

function looks(picture: Picture): Record<string, string> {
  const nodes = nodesOf(picture, GRAPH).map((node) => [
    node.id,
    (node.data as { look: { status: string } }).look,
  ]);
  return Object.fromEntries(nodes.map(([id, look]) => [id, (look as { status: string }).status]));
}

test('every record says what each step does', () => {
  expect([1, 2, 3].map((seq) => looks(pictureAt(seq)).a)).toEqual(['ready', 'running', 'done']);
  expect(looks(pictureAt(3)).j).toBe('ready');
});

test('where nothing goes on, what waits is stuck', () => {
  const picture = pictureAt(3);
  expect(looks({ ...picture, waiting: stuckAt(picture.story, 3) })).toEqual({ a: 'done', j: 'stuck' });
});

test('a step that is tried again says which try comes next', () => {
  const tried = (trying: { failed: number; of: number | null; next_at: null } | null) => {
    const waiting = new Map([['a', { reason: 'worker', sentence: 'It is tried again.', trying }]]);
    return nodesOf(pictureAt(2, { waiting }), GRAPH).map((one) => (one.data as { trying?: string }).trying);
  };
  expect(tried({ failed: 2, of: 30, next_at: null })).toEqual(['3/30', undefined]);
  expect(tried({ failed: 2, of: null, next_at: null })).toEqual(['3', undefined]);
  expect(tried(null)).toEqual([undefined, undefined]);
});

test('a token that waits at the end of an arc is a bead there, and the arc was taken', () => {
  const beads = (seq: number) => edgesOf(pictureAt(seq), GRAPH).map((one) => one.data);
  expect(beads(2)).toMatchObject([{ tokens: 0, taken: 0 }]);
  expect(beads(3)).toMatchObject([{ tokens: 1, taken: 1 }]);
});

test('a record that is selected makes the arcs stand out along which it moved tokens', () => {
  const chosen = (sel: Picture['sel'], step: string | null) =>
    edgesOf(pictureAt(3, { sel, step }), GRAPH).map((one) => (one.data as { selected: boolean }).selected);
  expect(chosen({ kind: 'rec', seq: 3 }, 'j')).toEqual([true]);
  expect(chosen({ kind: 'rec', seq: 2 }, null)).toEqual([false]);
  expect(chosen({ kind: 'step', step: 'a' }, 'a')).toEqual([true]);
});

test('who wrote what is selected is marked', () => {
  const marked = nodesOf(pictureAt(3, { writers: new Set(['a']) }), GRAPH);
  expect(marked.map((one) => (one.data as { selected: boolean }).selected)).toEqual([true, false]);
});

test('a join of arcs says of how many a token has come', () => {
  const arcs = [...GRAPH.arcs, { ...GRAPH.arcs[0]!, index: 1 }];
  const nodes = GRAPH.nodes.map((node) => (node.id === 'j' ? { ...node, join: 'arcs' } : node));
  const said = (seq: number) => {
    const [, join] = nodesOf(pictureAt(seq), { ...GRAPH, arcs, nodes });
    return factOf(join!.data as unknown as StepNodeData);
  };
  expect(said(2)).toBe('task · join arcs');
  expect(said(3)).toBe('task · join 1 of 2');
});

test('a loop says how many have ended, and what one should know of the others', () => {
  expect(loopInWords(1000, [990, 8, 2, 0, 0])).toBe('2 of 1,000 · 8 in flight');
  expect(loopInWords(100, [55, 8, 35, 2, 0])).toBe('37 of 100 · 2 failed');
  expect(loopInWords(3, [0, 0, 3, 0, 0])).toBe('3 of 3');
});

test('of a net, which names no arcs, those into a place are taken; and what was there and has gone on is done', () => {
  const places = FRAMES.places.map((place) => ({ ...place, arc: null })) as Frames['places'];
  const bare = { ...FRAMES, places, types: ['start', 'start', 'end'] };
  const picture = { ...pictureAt(3), story: storyOf(bare) };
  expect(edgesOf(picture, GRAPH)[0]?.data).toMatchObject({ taken: 0 });
  expect(edgesOf({ ...picture, isOfNet: true }, GRAPH)[0]?.data).toMatchObject({ taken: 1 });
  expect(looks(picture).a).toBe('idle');
  expect(looks({ ...picture, isOfNet: true }).a).toBe('done');
});

function Played() {
  const [at, setAt] = useState<number | undefined>(undefined);
  return (
    <StoryViewer
      graph={GRAPH}
      frames={FRAMES}
      label="A walk"
      at={at}
      onAt={setAt}
      selected="a"
      onSelect={() => {}}
    />
  );
}

test('it is shown at its end, and stepped and dragged from there, with the keys of an execution', () => {
  show(<Played />);
  const said = () => screen.getByRole('status').textContent;
  const press = (key: string, more = {}) => fireEvent.keyDown(document.body, { key, ...more });
  expect(said()).toBe('3 of 3 · step.done a');
  fireEvent.click(screen.getByRole('button', { name: 'Record before' }));
  expect(said()).toBe('2 of 3 · step.started a');
  press('ArrowLeft');
  expect(said()).toBe('1 of 3 · execution.started');
  press('ArrowLeft');
  expect(said()).toBe('1 of 3 · execution.started');
  press('ArrowRight', { shiftKey: true });
  expect(said()).toBe('2 of 3 · step.started a');
  expect(screen.getByRole('slider').getAttribute('aria-valuetext')).toContain('record 2 of 3');
  fireEvent.click(screen.getByRole('button', { name: 'Last record' }));
  expect(said()).toContain('3 of 3');
  fireEvent.click(screen.getByRole('button', { name: 'Record before' }));
  fireEvent.keyDown(screen.getByRole('slider'), { key: 'End' });
  expect(said()).toContain('3 of 3');
  press(' ');
  expect(said()).toContain('1 of 3');
  expect(screen.getByRole('button', { name: 'Stop' })).toBeTruthy();
});
