// @vitest-environment jsdom
import { beforeEach, expect, test } from 'vitest';
import type { ExecutionItem, Operation } from '../../api/shapes';
import { colsIn, shownCols, turned } from './cols';
import { columnsOf } from './columns';
import { said } from './OperationBar';
import { executionsSearch } from './search';

beforeEach(() => localStorage.clear());

test('columns are those of the address, else those that were last chosen, else the usual ones', () => {
  const usual = shownCols(undefined, false);
  expect(usual).toContain('now');
  expect(turned(usual, 'labels')).toEqual([...usual, 'labels']);
  expect(shownCols(undefined, false)).toEqual([...usual, 'labels']);
  expect(shownCols(['key'], true)).toEqual(['key']);
  expect(turned(['key'], 'key')).toEqual(['key']); // one stays
  expect(shownCols(undefined, true)).toEqual(['now']); // whatever was chosen where there is more room
});

test('what is no column is none, and those that are stand in their order', () => {
  expect(colsIn(['labels', 'nonsense', 'id'])).toEqual(['id', 'labels']);
  expect(executionsSearch({ cols: 'labels,id', op: 'o1' })).toMatchObject({
    cols: ['id', 'labels'],
    op: 'o1',
  });
  expect(executionsSearch({ cols: 'nonsense' }).cols).toBeUndefined();
});

test('a row says its status and its playbook, and what was chosen besides', () => {
  const columns = columnsOf(['labels'], new Map(), false);
  expect(columns.map((one) => one.id)).toEqual(['status', 'playbook', 'labels']);
  const row = { labels: { env: 'prod', team: 'ops' } } as unknown as ExecutionItem;
  const cell = columns.at(-1)?.cell(row, 0) as unknown as { props: { children: string } };
  expect(cell.props.children).toBe('env=prod team=ops');
});

const OPERATION: Operation = {
  id: 'o1',
  act: 'cancel',
  status: 'running',
  total: 37,
  done: 12,
  failed: 1,
  failures: [],
} as unknown as Operation;

test.each([
  [{}, 'Cancel: 12 of 37… · 1 could not'],
  [{ failed: 0 }, 'Cancel: 12 of 37…'],
  [{ status: 'done' as const, done: 36 }, 'Cancel: 36 executions · 1 could not'],
  [{ status: 'stopped' as const, failed: 0 }, 'Cancel: 12 of 37 · stopped'],
])('of an act on many with %j it is said: %s', (change, words) => {
  expect(said({ ...OPERATION, ...change })).toBe(words);
});
