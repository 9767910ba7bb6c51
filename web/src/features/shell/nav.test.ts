import { expect, test } from 'vitest';
import { isWithin, NAV, split } from './nav';

test('every page is reached at every width, and no two have one key', () => {
  for (const width of [320, 390, 760, 1440]) {
    const { shown, more } = split(width);
    expect([...shown, ...more].map((entry) => entry.to).sort()).toEqual(NAV.map((entry) => entry.to).sort());
    expect(shown.length).toBeLessThanOrEqual(width < 760 ? 2 : 4);
  }
  expect(new Set(NAV.map((entry) => entry.key)).size).toBe(NAV.length);
});

test('a page of one thing belongs to the list of such things, and to no other', () => {
  const within = (path: string) => NAV.filter((entry) => isWithin(entry, path)).map((entry) => entry.to);
  expect(within('/e/0123/diff/4567')).toEqual(['/executions']);
  expect(within('/edit/orders/big')).toEqual(['/playbooks']);
  expect(within('/p/schedules')).toEqual(['/playbooks']);
  expect(within('/executions')).toEqual(['/executions']);
});
