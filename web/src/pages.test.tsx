// @vitest-environment jsdom
import { createMemoryHistory, createRouter, RouterProvider } from '@tanstack/react-router';
import { cleanup, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { client } from './api/client';
import { connection } from './api/connection';
import { away, Problem } from './api/problems';
import { parseSearch, stringifySearch } from './kit/search';
import { isAccessible, makeBrowserParts, show } from './kit/testing';
import { queries, tree } from './router';

class Silent {
  addEventListener(): void {}
  close(): void {}
}

beforeAll(() => {
  makeBrowserParts();
  vi.stubGlobal('EventSource', Silent);
  window.scrollTo = () => undefined;
  HTMLCanvasElement.prototype.getContext = () => null; // jsdom draws nothing
});
afterEach(() => {
  cleanup();
  queries.clear();
  vi.restoreAllMocks();
  connection.answered(Date.now());
});

const ME = { name: 'ada', roles: ['admin'], permissions: ['see', 'apply', 'start', 'steer'], csrf: 'x' };
const EMPTY = { items: [], next: null, counts: {}, total: 0, statuses: {}, lines: [], by: 'status' };
const STORE = { executions: {}, work_items: {}, records: 0, wake_ups: 0, outbox: 0, bytes: 0 };

type Answering = (path: string) => unknown;
let answer: Answering;

/** What every page asks for is there; the rest is as a test says. */
beforeEach(() => {
  answer = () => EMPTY;
  vi.spyOn(client, 'GET').mockImplementation((async (path: string) => {
    const known: Record<string, unknown> = {
      '/api/v1/me': ME,
      '/api/v1/meta': { version: '1', name: 'petra', log_in: [] },
    };
    const data = known[path] ?? (await answer(path));
    return { data, response: new Response(null, { status: 200 }) };
  }) as never);
});

function visit(path: string) {
  const history = createMemoryHistory({ initialEntries: [path] });
  const router = createRouter({ routeTree: tree, history, parseSearch, stringifySearch });
  return show(<RouterProvider router={router as never} />).container;
}

function problem(status: number, code: string): Problem {
  return new Problem({ title: `It is ${code}`, status, code, detail: 'why it is so', hint: 'what next' });
}

const never = () => new Promise(() => undefined);
const refused = (status: number, code: string) => () => Promise.reject(problem(status, code));

/** Pages that show what they asked for; and what stands there where nothing is. */
const PAGES: Record<string, string> = {
  '/executions?status=failed': 'Nothing matches',
  '/playbooks': 'No playbook was applied yet',
  '/playbooks?q=pay': 'Nothing matches',
  '/inbox?box=open': 'Nobody is asked anything',
  '/inbox?q=pay&due=overdue&sort=due': 'Nothing matches',
  '/schedules': 'Nothing is started by the clock',
  '/triggers': 'Nothing is started by events',
  '/notifications': 'Nobody was told anything yet',
  '/workers': 'No worker is there',
  '/system?tab=audit': 'Nothing was done yet.',
  '/system?tab=secrets': 'There are no secrets.',
  '/system?tab=users': 'There are no users',
};

describe.each(Object.entries(PAGES))('%s', (path, nothing) => {
  test('has its heading and a place for what is on its way', async () => {
    answer = never;
    const page = visit(path);
    expect(await screen.findByRole('heading', { level: 1 })).toBeTruthy();
    await screen.findAllByRole('status', { name: 'loading' });
    await isAccessible(page);
  });

  test('says what would stand there where nothing does', async () => {
    const page = visit(path);
    await screen.findByRole('heading', { level: 1 });
    await waitFor(() => expect(page.querySelector('main')?.textContent).toContain(nothing));
    await isAccessible(page);
  });

  test('says what went wrong, and can be asked once more', async () => {
    answer = refused(500, 'internal');
    const page = visit(path);
    expect((await screen.findAllByRole('alert'))[0]?.textContent).toContain('why it is so');
    expect(screen.getAllByRole('button', { name: 'Retry' }).length).toBeGreaterThan(0);
    await isAccessible(page);
  });

  test('says who may, to whom may not', async () => {
    answer = refused(403, 'forbidden');
    const page = visit(path);
    expect((await screen.findAllByRole('alert'))[0]?.textContent).toContain('Ask an administrator');
    await isAccessible(page);
  });

  test('says that the server is away', async () => {
    answer = () => Promise.reject(away(new Error('refused')));
    const page = visit(path);
    expect((await screen.findAllByRole('alert'))[0]?.textContent).toContain('The server does not answer');
    await isAccessible(page);
  });
});

test('the store says its numbers, none of which is missing', async () => {
  answer = () => STORE;
  const page = visit('/system');
  await screen.findByRole('heading', { level: 1 });
  await isAccessible(page);
});
