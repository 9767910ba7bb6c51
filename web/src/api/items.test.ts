import { describe, expect, it } from 'vitest';
import { dueIn } from '../features/inbox/due';
import { inboxSearch } from '../features/inbox/search';
import { changedFields, itsOwn } from './items';
import type { EventItem } from './shapes';

describe('what differs from the proposal', () => {
  it('names changed, new and missing fields', () => {
    expect(changedFields({ a: 1, b: [1], c: 0 }, { a: 2, b: [1], d: null })).toEqual(['a', 'c', 'd']);
  });
  it('is nothing where nothing was proposed', () => {
    expect(changedFields(undefined, { a: 1 })).toEqual([]);
    expect(changedFields([1], { a: 1 })).toEqual([]);
  });
});

describe('when it is due', () => {
  const now = Date.parse('2026-03-01T12:00:00Z');
  it('says in how long, and how late', () => {
    expect(dueIn('2026-03-01T13:30:00Z', now)).toEqual({ text: 'in 1 h 30 m', late: false });
    expect(dueIn('2026-03-01T11:59:30Z', now)).toEqual({ text: '30 s late', late: true });
    expect(dueIn(null, now)).toEqual({ text: '–', late: false });
  });
});

it('drops what the address cannot mean', () => {
  expect(inboxSearch({ box: 'nobody', item: 'no-slash' })).toEqual({ box: undefined, item: undefined });
  expect(inboxSearch({ box: 'done', item: 'e/i' })).toEqual({ box: 'done', item: 'e/i' });
});

it('of the records of a step those are about an item that name it, without the words that all have', () => {
  const record = (item: string, text: string) =>
    ({ preview: `{"type":"workitem.changed","item":"${item}","act":"claim"`, text }) as EventItem;
  const found = itsOwn(
    [record('i1', 'workitem.changed claim by ada'), record('i11', 'workitem.changed claim by bob')],
    'i1',
  );
  expect(found.map((one) => one.text)).toEqual(['claim by ada']);
});
