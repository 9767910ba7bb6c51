import { expect, test } from 'vitest';
import { ENOUGH, enough, PIECES_MAX, summed } from './pieces';

const page = (items: number[], next: string | null) => ({ items, next });

test('pages without any are followed until there are enough rows', async () => {
  const pages: Record<string, ReturnType<typeof page>> = {
    '': page([], 'a'),
    a: page([1], 'b'),
    b: page([], 'c'),
    c: page(
      Array.from({ length: ENOUGH }, (_, n) => n),
      'd',
    ),
  };
  const asked: (string | null)[] = [];
  const found = await enough(async (cursor) => {
    asked.push(cursor);
    return pages[cursor ?? ''] ?? page([], null);
  }, null);
  expect(asked).toEqual([null, 'a', 'b', 'c']);
  expect(found.items).toHaveLength(ENOUGH + 1);
  expect(found.next).toBe('d');
});

test('the last page is the last, however few there are', async () => {
  const found = await enough(async () => page([7], null), 'x');
  expect(found).toEqual({ items: [7], next: null });
});

test('counts are added up from their pieces', async () => {
  const hour = '2026-01-31T09:00:00Z';
  const whole = await summed(async (cursor) => ({
    by: 'hour',
    total: 2,
    counts: { [hour]: 2 },
    statuses: { [hour]: { [cursor ? 'failed' : 'completed']: 2 } },
    next: cursor ? null : 'a',
  }));
  expect(whole.total).toBe(4);
  expect(whole.counts).toEqual({ [hour]: 4 });
  expect(whole.statuses).toEqual({ [hour]: { completed: 2, failed: 2 } });
});

test('of more pieces than are added up there are at least so many', async () => {
  const some = await summed(async () => ({ by: 'status', total: 1, counts: { failed: 1 }, next: 'more' }));
  expect(some.total).toBe(PIECES_MAX);
  expect(some.next).toBe('more');
});
