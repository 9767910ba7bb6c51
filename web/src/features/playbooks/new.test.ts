import { expect, test } from 'vitest';
import { unfitPath } from './NewPlaybook';

test.each(['', ' a', 'a/', '/a', 'a//b', '../a', 'a/./b'])('%j is no path of a new playbook', (path) => {
  expect(unfitPath(path, [])).not.toBeNull();
});

test('a path that is taken says so, any other is fine', () => {
  expect(unfitPath('team/orders', ['team/orders'])).toContain('already');
  expect(unfitPath('team/orders', ['orders'])).toBeNull();
});
