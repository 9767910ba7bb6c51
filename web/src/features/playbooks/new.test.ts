import { expect, test } from 'vitest';
import { unfitPath } from './NewPlaybook';
import { fitting } from './search';

test.each(['', ' a', 'a/', '/a', 'a//b', '../a', 'a/./b'])('%j is no path of a new playbook', (path) => {
  expect(unfitPath(path, [])).not.toBeNull();
});

test('a path that is taken says so, any other is fine', () => {
  expect(unfitPath('team/orders', ['team/orders'])).toContain('already');
  expect(unfitPath('team/orders', ['orders'])).toBeNull();
});

test('the list is narrowed by words of a path or a name, in any order', () => {
  const rows = [
    { path: 'shop/pay', name: 'pay' },
    { path: 'shop/ship', name: 'Ship it' },
  ];
  const found = (q: string) => fitting(rows, q).map((row) => row.path);
  expect(found('')).toEqual(['shop/pay', 'shop/ship']);
  expect(found('SHIP shop')).toEqual(['shop/ship']);
  expect(found('it')).toEqual(['shop/ship']);
  expect(found('pay ship')).toEqual([]);
});
