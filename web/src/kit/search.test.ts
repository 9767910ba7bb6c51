import { expect, test } from 'vitest';
import { NO_QUERY } from '../api/lists';
import { executionSearch } from '../features/execution/search';
import { executionsSearch, queryOf, searchOf } from '../features/executions/search';
import { list, oneOf, parseSearch, stringifySearch, text, unread, whole } from './search';

const bare = (found: object) => JSON.parse(JSON.stringify(found)) as object;

test('the address of an execution is read and written back', () => {
  const search = '?at=44&sel=step:enrich&tab=ctx&lens=net&show=graph,log&scale=time';
  expect(stringifySearch(bare(executionSearch(parseSearch(search))) as Record<string, unknown>)).toBe(search);
});

test.each([
  ['at=0', {}],
  ['at=-3', {}],
  ['at=4.5', {}],
  ['at=abc', {}],
  ['at=44', { at: 44 }],
  ['sel=nothing', {}],
  ['sel=run:3', { sel: 'run:3' }],
  ['tab=evil', {}],
  ['focus=log', { focus: 'log' }],
  ['show=nothing', {}],
  ['show=graph,nothing', { show: ['graph'] }],
  ['other=1', {}],
])('%s says %j', (given, found) => {
  expect(bare(executionSearch(parseSearch(given)))).toEqual(found);
});

test('a list is the same query in the address as in the bar', () => {
  const query = { ...NO_QUERY, q: 'a & b', status: ['failed', 'stuck'], label: ['env:prod'], since: '24h' };
  const address = stringifySearch(searchOf(query) as Record<string, unknown>);
  expect(queryOf(executionsSearch(parseSearch(address)))).toEqual(query);
  expect(stringifySearch(searchOf(NO_QUERY) as Record<string, unknown>)).toBe('');
});

test('markup in an address stays text', () => {
  const evil = '<img src=x onerror=alert(1)>';
  expect(text(parseSearch(stringifySearch({ q: evil })), 'q')).toBe(evil);
});

test('parts of an address are checked', () => {
  expect(whole({ n: '12' }, 'n')).toBe(12);
  expect(whole({ n: '1e400' }, 'n')).toBeUndefined();
  expect(oneOf({ a: 'x' }, 'a', ['y'])).toBeUndefined();
  expect(list({ a: ',,' }, 'a')).toBeUndefined();
});

test('what a page knows and cannot read is told, what it does not know is not', () => {
  const raw = { at: 'x', sel: 'step:a', nonsense: '1', tab: '<b>' };
  expect(unread(raw, { ...raw, ...executionSearch(raw) })).toEqual(['at=x', 'tab=<b>']);
  expect(unread({}, { ...executionSearch({}) })).toEqual([]);
});
