// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, cleanup, renderHook, waitFor } from '@testing-library/react';
import type { ReactNode } from 'react';
import { afterEach, expect, test } from 'vitest';
import { usePages } from './usePages';

afterEach(cleanup);

const SIZE = 3;
const TOTAL = 8;

function shown(most?: number, fails = false) {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={client}>{children}</QueryClientProvider>
  );
  const asked: (string | null)[] = [];
  const fetch = async (cursor: string | null) => {
    asked.push(cursor);
    if (fails) throw new Error('no');
    const from = Number(cursor ?? 0);
    const to = Math.min(TOTAL, from + SIZE);
    const items = Array.from({ length: to - from }, (_, n) => from + n);
    return { items, next: to < TOTAL ? String(to) : null };
  };
  const hook = renderHook(() => usePages({ key: ['numbers'], fetch, most }), { wrapper });
  return { asked, hook };
}

test('pages follow each other to the end, and no further', async () => {
  const { asked, hook } = shown();
  await waitFor(() => expect(hook.result.current.rows).toEqual([0, 1, 2]));
  for (const count of [6, 8]) {
    act(() => hook.result.current.more());
    await waitFor(() => expect(hook.result.current.rows).toHaveLength(count));
  }
  act(() => hook.result.current.more());
  expect(asked).toEqual([null, '3', '6']);
});

test('a page is asked for once, however often it is wanted', async () => {
  const { asked, hook } = shown();
  await waitFor(() => expect(hook.result.current.rows).toHaveLength(3));
  act(() => {
    hook.result.current.more();
    hook.result.current.more();
  });
  await waitFor(() => expect(hook.result.current.rows).toHaveLength(6));
  act(() => hook.result.current.more());
  await waitFor(() => expect(hook.result.current.rows).toHaveLength(8));
  expect(asked).toEqual([null, '3', '6']);
});

test('where enough are here, no more are fetched', async () => {
  const { asked, hook } = shown(5);
  await waitFor(() => expect(hook.result.current.rows).toHaveLength(3));
  act(() => hook.result.current.more());
  await waitFor(() => expect(hook.result.current.rows).toHaveLength(6));
  act(() => hook.result.current.more());
  expect(asked).toEqual([null, '3']);
});

test('what goes wrong is told, and there are no rows', async () => {
  const { hook } = shown(undefined, true);
  await waitFor(() => expect(hook.result.current.found.isError).toBe(true));
  expect(hook.result.current.rows).toEqual([]);
});
