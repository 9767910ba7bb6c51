import { describe, expect, it } from 'vitest';
import type { WorkItem } from '../api/items';
import { hindrance, mistakes, startForm } from './act';
import { completing, ITEM_ACTS, type ItemView, saving } from './items';
import { ITEM } from './samples';

function view(change: Partial<WorkItem> = {}, more: Partial<ItemView> = {}): ItemView {
  return { item: { ...ITEM, ...change }, me: 'ada', may: ['decide'], offline: false, ...more };
}

const act = (id: string) => {
  const found = ITEM_ACTS.find((one) => one.id === id);
  if (!found) throw new Error(id);
  return found;
};

describe('every act on a work item', () => {
  const all = [...ITEM_ACTS, saving({}), completing('approve', 0, {})];
  it.each(all.map((one) => [one.id, one] as const))('%s has a key, words, a call and a line', (_, one) => {
    expect(one.keys).not.toBe('');
    expect(one.says(view())).not.toBe('');
    const form = { ...startForm(one, view()), to: 'bob', reason: 'so' };
    expect(one.call(view(), form).path).toMatch(/^\/api\/v1\/work-items\/e%201\/i1\/[a-z]+$/);
    expect(one.cli(view(), form).slice(0, 1)).toEqual(['task']);
    expect(one.cli(view(), form)[2]).toBe('e 1/i1');
  });
  it('no two have one key', () => {
    const keys = all.map((one) => one.keys);
    expect(new Set(keys).size).toBe(keys.length);
  });
  it('cannot be done by who may not decide, nor while the server is away', () => {
    for (const one of all) {
      expect(hindrance(one, view({}, { may: ['see'] }))).toContain('decide');
      expect(hindrance(one, view({}, { offline: true }))).toContain('server');
    }
  });
  it('cannot be done to what is over', () => {
    for (const one of all) expect(hindrance(one, view({ state: 'done' }))).not.toBeNull();
  });
});

describe('who holds it', () => {
  it('anybody who is asked may claim and decide what nobody holds', () => {
    expect(hindrance(act('claim'), view())).toBeNull();
    expect(hindrance(completing('approve', 0, {}), view())).toBeNull();
    expect(hindrance(act('release'), view())).toBe('claim it first');
  });
  it('what another holds says who', () => {
    const held = view({ state: 'allocated', holder: 'bob' });
    for (const id of ['claim', 'release', 'delegate', 'fail']) {
      expect(hindrance(act(id), held)).toBe("'bob' holds it");
    }
  });
  it('what I hold I may give back, and not claim again', () => {
    const mine = view({ state: 'allocated', holder: 'ada' });
    expect(hindrance(act('release'), mine)).toBeNull();
    expect(hindrance(act('claim'), mine)).toBe('you hold it already');
  });
  it('what is put aside is taken up before it is decided', () => {
    const aside = view({ state: 'suspended', holder: 'ada' });
    expect(hindrance(act('resume'), aside)).toBeNull();
    expect(hindrance(completing('approve', 0, {}), aside)).toContain('put aside');
  });
});

it('says what is missing, by field', () => {
  expect(mistakes(act('delegate'), { to: '', reason: '' })).toEqual({ to: 'this is needed' });
  expect(mistakes(act('comment'), { reason: 'hm' })).toEqual({});
});

it('decides with what was filled in', () => {
  const made = completing('reject', 1, { note: "it's wrong" });
  expect(made.keys).toBe('2');
  expect(made.call(view(), {}).body).toEqual({ action: 'reject', data: { note: "it's wrong" } });
  expect(made.cli(view(), {})).toEqual([
    'task',
    'complete',
    'e 1/i1',
    'reject',
    '--data',
    `{"note":"it's wrong"}`,
  ]);
});
