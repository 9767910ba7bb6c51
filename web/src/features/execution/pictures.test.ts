import { expect, test } from 'vitest';
import type { Frames, Graph } from '../../api/shapes';
import { StoryStore } from '../../story/store';
import { cameraOf, readCamera, seeing, sees, viewportOf, writeCamera } from '../../viewer/camera';
import { edgesOf, nodesOf, placeOfChild, WITHIN } from '../../viewer/elements';
import { movesBetween, wayOf } from '../../viewer/moves';
import type { Child, Picture } from '../../viewer/picture';
import { placeOfRecord, placesOf, senseOf } from './compare/aligned';
import { executionSearch, readChild } from './search';
import { ALL, readSpan, shifted, within, without, writeSpan, zoomed } from './timeline/span';

test('a past that was taken over is one record of the fork; then both go on side by side', () => {
  const places = placesOf([[1, 1], [4, 1], [6, 3]], 7, 3); // biome-ignore format: a table
  expect(places.map((one) => [one.left, one.right])).toEqual([
    [1, 1],
    [2, 1],
    [3, 1],
    [4, 1],
    [5, 2],
    [6, 3],
    [7, 3],
  ]);
  expect(placeOfRecord(places, 'right', 2)).toBe(4);
  expect(placeOfRecord(places, 'left', 8)).toBe(-1);
});

test.each([
  [[], 0, 0],
  [[], 5, 2],
  [[[1, 1]], 1, 1],
  [
    [
      [1, 1],
      [9, 9],
    ],
    3,
    12,
  ],
] as [number[][], number, number][])('the track of %j ends where both end', (corners, left, right) => {
  const places = placesOf(corners, left, right);
  expect(places.at(-1)).toEqual({ left, right });
  const steps = places.slice(1).map((one, n) => [one.left - places[n]!.left, one.right - places[n]!.right]);
  expect(steps.flat().every((step) => step === 0 || step === 1)).toBe(true);
});

test('in what sense two are the same is said in words', () => {
  expect(senseOf('E0')).toContain('same order (E0)');
  expect(senseOf('different')).toBe('another outcome');
});

test('a view stays where a box is seen, and brings one into its middle that is not', () => {
  const area = { width: 400, height: 200 };
  const view = { x: 10, y: 0, zoom: 0.5 };
  expect(seeing(view, area, { x: 0, y: 0, w: 180, h: 56 })).toBe(view);
  expect(seeing(view, area, undefined)).toBe(view);
  for (const box of [
    { x: 0, y: 380, w: 180, h: 56 },
    { x: -40, y: 0, w: 180, h: 56 },
  ]) {
    const moved = seeing(view, area, box);
    expect([sees(view, area, box), sees(moved, area, box), moved.zoom]).toEqual([false, true, 0.5]);
    expect(cameraOf(moved, area)).toEqual({ x: box.x + 90, y: box.y + 28, zoom: 0.5 });
  }
});

test('a camera is written and read; the window does not matter; nonsense is none', () => {
  const camera = { x: 120, y: -40, zoom: 0.75 };
  expect(readCamera(writeCamera(camera))).toEqual(camera);
  for (const area of [
    { width: 800, height: 600 },
    { width: 390, height: 500 },
  ]) {
    expect(cameraOf(viewportOf(camera, area), area)).toEqual(camera);
  }
  for (const bad of ['', '1,2', '1,2,3,4', 'a,b,c', '1,2,0', '1,2,99', '1e9,0,1', ',,']) {
    expect(readCamera(bad)).toBeNull();
  }
});

test('what the address says of camera, child and stretch is checked', () => {
  expect(executionSearch({ cam: '1,2,1', child: '3/01a1', x: '0..50' })).toMatchObject({
    cam: '1,2,1',
    child: '3/01a1',
    x: '0..50',
  });
  expect(executionSearch({ pin: 'step:a' }).pin).toBe('step:a');
  expect([executionSearch({ pin: 'all' }).pin, executionSearch({ pin: 'x' }).pin]).toEqual([
    'all',
    undefined,
  ]);
  const bad = executionSearch({ cam: 'x', child: '../../etc', x: '9..1' });
  expect([bad.cam, bad.child, bad.x]).toEqual([undefined, undefined, undefined]);
  expect(readChild('7/01a1e44c72ff-644f4c060e5a')).toEqual({ run: 7, id: '01a1e44c72ff-644f4c060e5a' });
});

test('a stretch of time is narrowed and moved, never beyond the ends', () => {
  expect(readSpan(writeSpan({ from: 10.4, to: 20.2 }))).toEqual({ from: 10, to: 21 });
  expect(readSpan('5..5')).toBeNull();
  const half = zoomed(ALL, 0.5, 0.5);
  expect(half).toEqual({ from: 0.25, to: 0.75 });
  expect(zoomed(half!, 0, 0.5)?.from).toBeCloseTo(0.25);
  expect(zoomed(half!, 0.5, 2)).toBeNull();
  expect(shifted(half!, 9)).toEqual({ from: 0.5, to: 1 });
  expect(without(half!, within(half!, 0.4))).toBeCloseTo(0.4);
});

const GRAPH: Graph = {
  lens: 'step',
  width: 200,
  height: 300,
  nodes: [
    { id: 'a', step: 'a', kind: 'step', x: 0, y: 0, w: 180, h: 56, tools: ['playbook'] },
    { id: 'b', step: 'b', kind: 'step', x: 0, y: 120, w: 180, h: 56 },
  ],
  arcs: [{ from: 'a', to: 'b', index: 0, points: [[90, 56], [90, 120]], backward: false }], // biome-ignore format: a line
};

function told(): StoryStore {
  const story = new StoryStore();
  story.append({
    first: 1,
    at0: 0,
    version: 3,
    places: [
      { step: 'a', kind: 'running', arc: null },
      { step: 'b', kind: 'ready', arc: ['a', 0] },
    ],
    types: ['step.started', 'step.done'],
    steps: ['a', 'b'],
    dt: [0, 1, 1],
    type: [0, 1, 0],
    step: [0, 0, 1],
    run: [1, 1, 2],
    flag: [0, 0, 0],
    delta: [[0, 1], [0, -1, 1, 40], [1, -1]], // biome-ignore format: columns
  } as unknown as Frames);
  return story;
}

test('tokens travel when the story goes on, not back and not in a jump', () => {
  const story = told();
  expect(movesBetween(story, 1, 2)).toEqual([{ arc: 'a/0>b', tokens: 40 }]);
  expect(movesBetween(story, 1, 3)).toEqual([{ arc: 'a/0>b', tokens: 40 }]);
  expect(movesBetween(story, 2, 3)).toEqual([]);
  expect(movesBetween(story, 2, 1)).toEqual([]);
  expect(movesBetween(story, 0, 3)).toEqual([]);
  expect(movesBetween(story, 1, 500)).toEqual([]);
});

test('a way is walked evenly', () => {
  const points: [number, number][] = [
    [0, 0],
    [0, 30],
    [10, 30],
  ];
  expect(wayOf(points).map((one) => one.at)).toEqual([0, 0.75, 1]);
  expect(wayOf([[5, 5], [5, 5]]).map((one) => one.at)).toEqual([0, 1]); // biome-ignore format: a line
});

test('a child is drawn beside the graph, at its step, with its own states', () => {
  const story = told();
  const child: Child = {
    id: 'c',
    step: 'a',
    head: undefined,
    story,
    edition: 1,
    graph: GRAPH,
    seq: 2,
    waiting: new Map(),
  };
  const base = { id: 'p', story, edition: 1, seq: 3, sel: null, step: null, waiting: new Map(), child };
  const picture: Picture = { ...base, select: () => undefined, openChild: () => undefined };
  const nodes = nodesOf(picture, GRAPH);
  expect(nodes.map((node) => node.id)).toEqual(['a', 'b', WITHIN, `${WITHIN}a`, `${WITHIN}b`]);
  const frame = nodes.find((node) => node.id === WITHIN);
  expect(frame?.position).toEqual(placeOfChild(GRAPH, 'a'));
  expect(frame!.position.x).toBeGreaterThan(GRAPH.width);
  const inner = nodes.find((node) => node.id === `${WITHIN}b`)?.data as { facts: { ready: number } };
  expect(inner.facts.ready).toBe(40);
  const edges = edgesOf(picture, GRAPH);
  expect(edges.map((edge) => edge.target)).toEqual(['b', WITHIN, `${WITHIN}b`]);
  expect(nodesOf({ ...picture, child: null }, GRAPH)).toHaveLength(2);
});
