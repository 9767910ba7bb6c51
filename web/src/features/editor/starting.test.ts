import { expect, test } from 'vitest';
import { startingText } from './starting';

test('a new playbook says where it stands, in words that mean the same to YAML', () => {
  const head = (path: string) => startingText(path).split('\n')[2];
  expect(head('orders')).toBe('metadata: {name: orders}');
  expect(head('team/orders')).toBe('metadata: {name: orders, path: "team/orders"}');
  expect(head('1')).toBe('metadata: {name: "1"}');
  expect(head('a: b')).toBe('metadata: {name: "a: b"}');
});
