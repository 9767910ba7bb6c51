// @vitest-environment jsdom
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from '@tanstack/react-router';
import { cleanup, fireEvent, screen } from '@testing-library/react';
import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { ITEM } from '../../../acts/samples';
import { client } from '../../../api/client';
import type { Frames, Graph } from '../../../api/shapes';
import { isAccessible, makeBrowserParts, show } from '../../../kit/testing';
import type { Sel } from '../../../story/sel';
import { stepOfSel } from '../../../story/select';
import { StoryStore } from '../../../story/store';
import type { View } from '../view';
import { SelectionTab } from './SelectionTab';

beforeAll(makeBrowserParts);
afterEach(cleanup);

const TOKEN = {
  id: 't7',
  place: 'ship.ready',
  step: 'ship',
  arc: ['pay', 0],
  since: 3,
  args: { order: 'R-17' },
  branch: [['spread', 2]],
};
const WRITE = { seq: 2, at: '2027-01-01T00:00:00Z', step: 'pay', actor: null, type: 'step.done', value: 12 };
const TAKEN = { seq: 3, at: '2027-01-01T00:00:00Z', type: 'step.done', text: 'pay is done' };

const ANSWERS: Record<string, unknown> = {
  '/api/v1/executions/{execution}/at/{seq}/tokens': { items: [TOKEN], next: null },
  '/api/v1/executions/{execution}/at/{seq}': { seq: 3, ctx: { total: 12 }, counts: {}, waiting: [] },
  '/api/v1/executions/{execution}/ctx/{key}/history': { items: [WRITE], next: null },
  '/api/v1/executions/{execution}/events': { items: [TAKEN], next: null },
  '/api/v1/executions/{execution}/runs': { items: [], next: null },
  '/api/v1/work-items/{execution}/{item}': { ...ITEM, step: 'ask' },
};

beforeEach(() => {
  vi.spyOn(client, 'GET').mockImplementation((async (path: string) => ({
    data: ANSWERS[path],
    response: new Response(null, { status: 200 }),
  })) as never);
});

const GRAPH = {
  lens: 'step',
  nodes: [],
  arcs: [{ from: 'pay', to: 'ship', index: 0, guard: 'ctx.total > 10', line: 9 }],
} as unknown as Graph;

function told(): StoryStore {
  const story = new StoryStore();
  const column = (value: number) => [value, value, value];
  story.append({
    first: 1,
    at0: 0,
    version: 3,
    places: [{ step: 'ship', kind: 'ready', arc: ['pay', 0] }],
    types: ['step.done'],
    steps: ['pay'],
    dt: column(1),
    type: column(0),
    step: column(0),
    run: column(0),
    flag: column(0),
    delta: [[], [], [0, 1]],
  } as unknown as Frames);
  return story;
}

const select = vi.fn();

function selected(sel: Sel, story = told(), waiting: View['waiting'] = new Map()) {
  const step = stepOfSel(story, sel);
  const view = {
    id: 'e1',
    story,
    seq: 3,
    latest: 3,
    live: true,
    sel,
    step,
    select,
    waiting,
    graph: GRAPH,
    search: {},
    offer: () => ({ button: {} }),
    go: vi.fn(),
  };
  const page = () => <SelectionTab view={view as unknown as View} />;
  const root = createRootRoute({ component: page });
  const router = createRouter({ routeTree: root, history: createMemoryHistory() });
  return show(<RouterProvider router={router as never} />).container;
}

const press = (name: string) => fireEvent.click(screen.getByRole('button', { name }));

test('a token: where it is, by which arc it came, since when, on which branch, with what', async () => {
  const box = selected({ kind: 'token', token: 't7' });
  expect(await screen.findByText('branch: 2 of spread')).toBeTruthy();
  expect(box.textContent).toContain('R-17');
  press('in ship.ready');
  press('by arc 1 of pay');
  press('since record 3');
  expect(select.mock.calls.flat()).toEqual([
    { kind: 'place', place: 'ship.ready' },
    { kind: 'arc', from: 'pay', index: 0 },
    { kind: 'rec', seq: 3 },
  ]);
  await isAccessible(box);
});

test('a token that is not there at the record that is shown is said to be nowhere', async () => {
  selected({ kind: 'token', token: 'another' });
  expect(await screen.findByText(/At record 3 it is nowhere/)).toBeTruthy();
});

test('a place: the tokens in it', async () => {
  const box = selected({ kind: 'place', place: 'ship.ready' });
  expect(await screen.findByRole('button', { name: 't7' })).toBeTruthy();
  expect(screen.getByRole('button', { name: 'Step ship' })).toBeTruthy();
  await isAccessible(box);
});

test('a variable: its value here, and who wrote it', async () => {
  const box = selected({ kind: 'ctx', key: 'total' });
  expect(await screen.findByRole('button', { name: 'record 2' })).toBeTruthy();
  expect(box.textContent).toContain('pay');
  await isAccessible(box);
});

test('a variable that was written very often: all writes are fetched, the last of them listed', async () => {
  const asked: unknown[] = [];
  vi.spyOn(client, 'GET').mockImplementation((async (
    path: string,
    { params }: { params: { query?: { cursor?: number; limit?: number } } },
  ) => {
    if (!path.endsWith('/history'))
      return { data: ANSWERS[path], response: new Response(null, { status: 200 }) };
    const from = params.query?.cursor ?? 0;
    asked.push(from);
    const items = Array.from({ length: 500 }, (_, n) => ({ ...WRITE, seq: from + n + 1 }));
    const data = { items, next: from < 500 ? String(from + 500) : null };
    return { data, response: new Response(null, { status: 200 }) };
  }) as never);
  selected({ kind: 'ctx', key: 'total' });
  expect(await screen.findByRole('button', { name: 'record 1000' })).toBeTruthy();
  expect(screen.getAllByRole('button', { name: /^record/ })).toHaveLength(100);
  expect(asked).toEqual([0, 500]);
});

test('a work item: what is asked of whom, and the way to answer it', async () => {
  const box = selected({ kind: 'item', item: 'i1' });
  const link = await screen.findByRole('link', { name: 'Open the work item' });
  expect(link.getAttribute('href')).toContain('e1%2Fi1');
  expect(box.textContent).toContain('asked of ada');
  await isAccessible(box);
});

test('an arc: its guard with what it reads, and when it was last taken', async () => {
  const box = selected({ kind: 'arc', from: 'pay', index: 0 });
  expect(await screen.findByRole('button', { name: 'ctx.total = 12' })).toBeTruthy();
  expect(await screen.findByRole('button', { name: 'Record 3' })).toBeTruthy();
  await isAccessible(box);
});

test('a step that failed before it began says of what, and in which record', async () => {
  const story = new StoryStore();
  const frames = { first: 1, at0: 0, version: 1, places: [], types: ['step.failed'], steps: ['join'] };
  story.append({
    ...frames,
    ...{ dt: [0], type: [0], step: [0], run: [0], flag: [1], delta: [[]] },
  } as unknown as Frames);
  ANSWERS['/api/v1/executions/{execution}/events'] = {
    items: [
      { ...TAKEN, seq: 1, type: 'step.failed', step: 'join', text: 'step.failed join; limit: none came' },
    ],
    next: null,
  };
  const box = selected({ kind: 'step', step: 'join' }, story);
  expect((await screen.findByText(/^limit: none came/)).textContent).not.toContain('join');
  expect(box.textContent).not.toContain('It has not run yet');
  press('record 1');
  expect(select).toHaveBeenLastCalledWith({ kind: 'rec', seq: 1 });
  await isAccessible(box);
});

test('a step that asks somebody shows what is asked', async () => {
  const acts = [{ act: 'complete', path: '/api/v1/work-items/e1/i1/complete' }];
  const why = { step: 'pay', reason: 'human', sentence: 'Step pay waits for a person.', acts };
  const waiting = new Map([['pay', why]]) as unknown as View['waiting'];
  const box = selected({ kind: 'step', step: 'pay' }, told(), waiting);
  expect(await screen.findByText('Pay?')).toBeTruthy();
  expect(screen.getByRole('link', { name: 'Open the work item' })).toBeTruthy();
  await isAccessible(box);
});
