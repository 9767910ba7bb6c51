import { expect, test } from 'vitest';
import { NAV, split } from './nav';

test('every page is reached at every width, and no two have one key', () => {
  for (const width of [320, 390, 760, 1440]) {
    const { shown, more } = split(width);
    expect([...shown, ...more].map((entry) => entry.to).sort()).toEqual(NAV.map((entry) => entry.to).sort());
    expect(shown.length).toBeLessThanOrEqual(width < 760 ? 2 : 4);
  }
  expect(new Set(NAV.map((entry) => entry.key)).size).toBe(NAV.length);
});
