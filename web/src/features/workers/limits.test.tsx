// @vitest-environment jsdom
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from '@tanstack/react-router';
import { cleanup, fireEvent, screen, waitFor } from '@testing-library/react';
import type { ReactNode } from 'react';
import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { client } from '../../api/client';
import type { LimitList, PlaceInLine, WholeLine } from '../../api/limits';
import { aheadInWords, limitInWords, placeOf, rateInWords } from '../../kit/limit-words';
import { Place } from '../../kit/Place';
import { isAccessible, makeBrowserParts, show } from '../../kit/testing';
import { LimitsCard } from './LimitsCard';

beforeAll(makeBrowserParts);
afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const PLACE: PlaceInLine = {
  limit: 'playbook etl/load',
  key: 'acme',
  position: 2,
  waiting: 5,
  used: 2,
  most: 2,
  holders: ['aaaaaaaaaaaa-bbbbbbbbbbbb', 'cccccccccccc-dddddddddddd'],
};
const LISTED: LimitList = {
  items: [
    { name: 'warehouse', units: 3, rate: { count: 60, per_s: 60 }, digest: 'd', used: 1, waiting: 0 },
    { name: 'mail', units: null, rate: null, digest: 'd', used: 4, waiting: 0 },
  ],
  lines: [{ limit: 'playbook etl/load', key: 'acme', used: 1, waiting: 200 }],
  next: null,
};
const STANDING: WholeLine = {
  limit: 'playbook etl/load',
  key: 'acme',
  used: 1,
  waiting: 200,
  holders: [
    {
      execution: 'aaaaaaaaaaaa-bbbbbbbbbbbb',
      step: null,
      units: 1,
      asked: '2026-01-01T00:00:00Z',
      state: 'held',
    },
  ],
  queue: [
    {
      execution: 'cccccccccccc-dddddddddddd',
      step: 'load',
      units: 2,
      asked: '2026-01-01T00:00:01Z',
      state: 'waiting',
    },
  ],
};

/** Show something where there are pages that it can lead to. */
function routed(node: ReactNode) {
  const root = createRootRoute();
  const home = createRoute({ getParentRoute: () => root, path: '/', component: () => node });
  const one = createRoute({ getParentRoute: () => root, path: '/e/$id' });
  const history = createMemoryHistory({ initialEntries: ['/'] });
  const router = createRouter({ routeTree: root.addChildren([home, one]), history });
  return show(<RouterProvider router={router as never} />);
}

let answers: Record<string, unknown>;
beforeEach(() => {
  answers = { '/api/v1/limits': LISTED, '/api/v1/limits/line': STANDING };
  vi.spyOn(client, 'GET').mockImplementation((async (path: string) => ({
    data: answers[path],
    response: new Response(null, { status: 200 }),
  })) as never);
});

test('limits are said in words, whatever they are called', () => {
  expect(limitInWords('quota executions', '')).toBe('quota of the namespace');
  expect(limitInWords('resource a b', 'k')).toBe('resource a b, key k');
  expect(limitInWords('limit shared', '')).toBe('limit shared');
  expect(rateInWords({ count: 1000, per_s: 60 })).toContain('in 60 s');
  expect(rateInWords(null)).toBe('');
});

test('in a list it is said how far from their turn somebody is, and beyond a thousand no more than that', () => {
  expect([0, 1, 999, 1000].map(aheadInWords)).toEqual([
    'number 1 in line',
    'number 2 in line',
    'number 1,000 in line',
    '1,000 or more in front',
  ]);
});

test('the first that waits for its turn tells the place, and nobody does where none waits', () => {
  expect(placeOf([{ queue: null }, {}, { queue: PLACE }])).toBe(PLACE);
  expect(placeOf([])).toBeNull();
});

test('a place in line says its number, what is in use, and by whom', async () => {
  const { container } = routed(<Place place={PLACE} />);
  await screen.findByText('number 2 of 5 in line');
  expect(container.textContent).toContain('for the limit of etl/load, key acme · 2 of 2 in use by ');
  const links = screen.getAllByRole('link').map((one) => one.getAttribute('href'));
  expect(links).toEqual(PLACE.holders.map((id) => `/e/${id}`));
  await isAccessible(container);
});

test('limits show what is in use, and who waits where somebody asks', async () => {
  const { container } = routed(<LimitsCard />);
  const resources = await screen.findByRole('list', { name: 'Resources' });
  expect([...resources.children].map((one) => one.textContent)).toEqual([
    'warehouse 1 of 3 in use · 60 in 60 s · 0 waiting',
    'mail 4 in use · 0 waiting',
  ]);
  expect(screen.queryByRole('list', { name: 'In' })).toBeNull();
  fireEvent.click(screen.getByText('limit of etl/load, key acme · 1 in use · 200 waiting'));
  const queue = await screen.findByRole('list', { name: 'Waiting, in order' });
  expect(queue.textContent).toContain(' load ×2 since ');
  expect(screen.getByText('and 199 more behind them')).toBeTruthy();
  await isAccessible(container);
});

test('where nothing is limited nothing is shown', async () => {
  answers['/api/v1/limits'] = { items: [], lines: [], next: null };
  const { container } = routed(<LimitsCard />);
  await waitFor(() => expect(client.GET).toHaveBeenCalled());
  await waitFor(() => expect(container.querySelector('section, [role=status]')).toBeNull());
});
