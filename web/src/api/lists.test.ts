import { expect, test } from 'vitest';
import { asked, momentOf, NO_QUERY, parsed, written } from './lists';

test('the bar is read into its parts', () => {
  expect(parsed('status:waiting,failed playbook:orders label.env=prod since:24h late delivery')).toEqual({
    ...NO_QUERY,
    status: ['waiting', 'failed'],
    playbook: 'orders',
    label: ['env:prod'],
    since: '24h',
    q: 'late delivery',
  });
});

test.each([
  '',
  'some words',
  'status:waiting',
  'status:waiting,failed playbook:orders label.env=prod since:24h until:2026-01-01 words',
  'playbook:"two words"',
  'label.a=b:c',
  'http://x',
])('%j is written as it was read', (text) => {
  expect(written(parsed(text))).toBe(text);
});

test('what is no filter is a word', () => {
  expect(parsed('colour:red <script>').q).toBe('colour:red <script>');
});

test.each([
  ['1h', '2026-01-01T11:00:00.000Z'],
  ['7d', '2025-12-25T12:00:00.000Z'],
  ['2026-01-01', '2026-01-01T00:00:00.000Z'],
  ['soon', null],
])('%s is %s', (text, at) => {
  expect(momentOf(text, Date.parse('2026-01-01T12:00:00Z'))).toBe(at);
});

test('only what is asked for is asked', () => {
  expect(asked(NO_QUERY, 0)).toEqual({});
  expect(asked({ ...NO_QUERY, since: 'never', q: 'x' }, 0)).toEqual({ q: 'x' });
});
