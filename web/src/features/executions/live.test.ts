import { expect, test } from 'vitest';
import { NO_QUERY } from '../../api/lists';
import type { Counts, ExecutionItem } from '../../api/shapes';
import { belongs, type Pages, patched, prepended, removed } from './live';
import { completions } from './QueryBar';
import { barsOf } from './StartsChart';
import { inLine } from './usePlaces';

function row(id: string, more: Partial<ExecutionItem> = {}): ExecutionItem {
  return {
    id,
    playbook: 'orders',
    digest: 'd',
    status: 'running',
    reason: '',
    started: `2026-01-01T00:00:0${id.length}Z`,
    updated: null,
    ended: null,
    parent: '',
    labels: {},
    namespace: 'default',
    version: 1,
    head: '',
    business_key: null,
    schedule: null,
    now: { kind: '', sentence: '', step: null },
    progress: null,
    ...more,
  };
}

const rowsOf = (pages: Pages) => pages.pages.flatMap((page) => page.items);
const PAGES: Pages = {
  pages: [
    { items: [row('bb'), row('a')], next: 'x' },
    { items: [row('z')], next: null },
  ],
  pageParams: [null, 'x'],
};

test('a row is changed where it stands', () => {
  const next = patched(PAGES, row('z', { status: 'failed' }));
  expect(rowsOf(next).map((one) => [one.id, one.status])).toEqual([
    ['bb', 'running'],
    ['a', 'running'],
    ['z', 'failed'],
  ]);
  expect(next.pages[0]).toBe(PAGES.pages[0]);
  expect(patched(PAGES, row('new'))).toBe(PAGES);
});

test('new rows come on top, once, the latest first', () => {
  const next = prepended(prepended(PAGES, [row('ccc'), row('dddd'), row('a')]), [row('ccc')]);
  expect(rowsOf(next).map((one) => one.id)).toEqual(['dddd', 'ccc', 'bb', 'a', 'z']);
});

test('what is gone is gone', () => {
  expect(rowsOf(removed(PAGES, 'a')).map((one) => one.id)).toEqual(['bb', 'z']);
});

test.each([
  [{}, true],
  [{ status: ['failed'] }, false],
  [{ status: ['failed', 'running'] }, true],
  [{ playbook: 'other' }, false],
  [{ label: ['env:prod'] }, true],
  [{ label: ['env:test'] }, false],
  [{ q: 'PROD' }, true],
  [{ q: 'nothing like it' }, false],
  [{ since: '2027-01-01' }, false],
  [{ until: '2025-01-01' }, false],
  [{ since: '2025-01-01', until: '2027-01-01' }, true],
])('of %j a row belongs: %s', (query, is) => {
  expect(belongs({ ...NO_QUERY, ...query }, row('abc', { labels: { env: 'prod' } }), 0)).toBe(is);
});

test('the bar completes to what is known', () => {
  expect(completions('status:w', [])).toEqual(['status:waiting']);
  expect(completions('x playbook:o', ['orders', 'two words'])).toEqual(['x playbook:orders']);
  expect(completions('playbook:"t', ['two words'])).toEqual(['playbook:"two words"']);
});

test('hours have no holes', () => {
  const found: Counts = {
    by: 'hour',
    total: 3,
    counts: {},
    statuses: { '2026-01-02T10:00:00.000Z': { failed: 1, completed: 2 } },
  };
  const bars = barsOf(found, Date.parse('2026-01-02T12:30:00Z'));
  expect(bars).toHaveLength(24);
  expect(bars.at(-1)?.total).toBe(0);
  expect(bars.at(-3)?.total).toBe(3);
});

test('places are asked for of those who wait for a limit, as many as can be at once', () => {
  const waits = row('a', { status: 'waiting', reason: 'limit' });
  const asks = row('b', { status: 'waiting', reason: 'human' });
  const step = row('d', { status: 'waiting', reason: 'resource' });
  expect(inLine([waits, asks, row('c'), step])).toEqual(['a', 'd']);
  expect(inLine(Array.from({ length: 300 }, () => waits))).toHaveLength(100);
});
