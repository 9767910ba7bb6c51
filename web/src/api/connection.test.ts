import { expect, test } from 'vitest';
import { ConnectionStore } from './connection';

test('however many messages come, it is told once a second that they do, and at once that they do again', () => {
  const store = new ConnectionStore();
  const told: string[] = [];
  store.subscribe(() => told.push(store.getLine()));
  for (let at = 0; at < 2500; at += 5) store.heard(at);
  expect(told).toEqual(['live', 'live', 'live']);
  store.line('offline');
  store.heard(2501);
  expect(told.slice(3)).toEqual(['offline', 'live']);
});
