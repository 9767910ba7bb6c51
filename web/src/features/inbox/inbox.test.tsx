// @vitest-environment jsdom
import { createMemoryHistory, createRouter, RouterProvider } from '@tanstack/react-router';
import { cleanup, fireEvent, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { client } from '../../api/client';
import { asked, NO_FILTER } from '../../api/items';
import { parseSearch, stringifySearch } from '../../kit/search';
import { makeBrowserParts, show } from '../../kit/testing';
import { queries, tree } from '../../router';
import { inboxSearch, queryOf } from './search';

class Silent {
  addEventListener(): void {}
  close(): void {}
}

const ME = { name: 'ada', roles: ['admin'], permissions: ['see', 'decide'], csrf: 'x' };
const BOOKS = { items: [{ path: 'shop/pay' }, { path: 'shop/ship' }], next: null };
type Asked = [path: string, query: Record<string, unknown>];
let calls: Asked[];

beforeAll(() => {
  makeBrowserParts();
  vi.stubGlobal('EventSource', Silent);
  window.scrollTo = () => undefined;
});
beforeEach(() => {
  calls = [];
  vi.spyOn(client, 'GET').mockImplementation((async (
    path: string,
    how?: { params?: { query?: Record<string, unknown> } },
  ) => {
    calls.push([path, how?.params?.query ?? {}]);
    const known: Record<string, unknown> = {
      '/api/v1/me': ME,
      '/api/v1/meta': { version: '1', name: 'petra', log_in: [] },
      '/api/v1/playbooks': BOOKS,
      '/api/v1/work-items/counts': { offered: 3 },
    };
    const data = known[path] ?? { items: [], next: null };
    return { data, response: new Response(null, { status: 200 }) };
  }) as never);
});
afterEach(() => {
  cleanup();
  queries.clear();
  vi.restoreAllMocks();
});

function visit(path: string) {
  const history = createMemoryHistory({ initialEntries: [path] });
  const router = createRouter({ routeTree: tree, history, parseSearch, stringifySearch });
  show(<RouterProvider router={router as never} />);
  return router;
}

const lastOf = (path: string) => calls.filter(([one]) => one === path).at(-1)?.[1];

describe('the address of the inbox', () => {
  test('says what is asked of the server', async () => {
    visit('/inbox?box=all&q=pay&playbook=shop/pay&due=overdue&sort=due');
    const wanted = { q: 'pay', playbook: 'shop/pay', due: 'overdue' };
    await waitFor(() =>
      expect(lastOf('/api/v1/work-items')).toEqual({ box: 'all', sort: 'due', limit: 100, ...wanted }),
    );
    await waitFor(() => expect(lastOf('/api/v1/work-items/counts')).toMatchObject(wanted));
  });

  test('keeps what is chosen, and loses it when the filter is cleared', async () => {
    const router = visit('/inbox?box=open');
    fireEvent.change(await screen.findByLabelText('Due'), { target: { value: 'none' } });
    await screen.findByRole('option', { name: 'shop/ship' });
    fireEvent.change(screen.getByLabelText('Playbook'), { target: { value: 'shop/ship' } });
    fireEvent.change(screen.getByLabelText('Sort'), { target: { value: 'newest' } });
    fireEvent.change(screen.getByLabelText(/^Words/), { target: { value: ' invoice ' } });
    await waitFor(() =>
      expect(router.state.location.search).toEqual({
        box: 'open',
        due: 'none',
        playbook: 'shop/ship',
        sort: 'newest',
        q: 'invoice',
      }),
    );
    fireEvent.click(await screen.findByRole('button', { name: 'Clear the filter' }));
    await waitFor(() => expect(router.state.location.search).toEqual({ box: 'open', sort: 'newest' }));
    expect((screen.getByLabelText(/^Words/) as HTMLInputElement).value).toBe('');
  });

  test('is read again as it is; what it cannot mean is dropped', () => {
    const search = inboxSearch({ box: 'done', due: 'someday', sort: 'colour', q: '', item: 'x' });
    expect(queryOf(search)).toEqual({ box: 'done', sort: 'priority', q: '', playbook: '', due: '' });
    expect(search.item).toBeUndefined();
  });
});

test('a day ends where it ends for who looks', () => {
  const late = new Date(2026, 2, 28, 23, 30);
  expect(asked({ ...NO_FILTER, due: 'today' }, late)).toEqual({
    due: new Date(2026, 2, 29).toISOString(),
  });
  expect(asked({ ...NO_FILTER, due: 'week' }, late)).toEqual({ due: 'week' });
  expect(asked(NO_FILTER, late)).toEqual({});
});
