import { expect, test } from 'vitest';
import { type Command, fits, modeOf } from './commands';
import { middle } from './Drawing';
import { bytes, duration, plural, shortId, shortTime } from './format';
import { pressed } from './keyboard';
import { lookOf, TOKENS } from './states';

test.each([
  [0.4, '<1 ms'],
  [41, '41 ms'],
  [1900, '1.9 s'],
  [59_999, '59 s'],
  [114_000, '1 m 54 s'],
  [14_400_000, '4 h'],
  [200_000_000, '2 d 7 h'],
  [-1, '–'],
  [Number.NaN, '–'],
])('%f ms are %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});

test('numbers, ids and sizes are short', () => {
  expect(plural(1, 'row')).toBe('1 row');
  expect(plural(8214, 'row')).toBe('8,214 rows');
  expect(shortId('01a1e3a65baa-4831f60c53b8')).toBe('01a1e3…53b8');
  expect(shortId('short')).toBe('short');
  expect([bytes(10), bytes(2048), bytes(10_485_760)]).toEqual(['10 B', '2.0 KB', '10 MB']);
  expect(shortTime('no time')).toBe('no time');
});

const key = (name: string, more: object = {}) => ({
  key: name,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  shiftKey: false,
  ...more,
});

test.each([
  [key('k', { ctrlKey: true }), 'Mod+k'],
  [key('k', { metaKey: true }), 'Mod+k'],
  [key('C', { shiftKey: true }), 'Shift+C'],
  [key('?', { shiftKey: true }), '?'],
  [key(' '), 'Space'],
  [key('ArrowLeft', { shiftKey: true }), 'Shift+ArrowLeft'],
  [key('ArrowLeft', { altKey: true }), 'Alt+ArrowLeft'],
  [key('/'), '/'],
])('%j is %s', (event, name) => {
  expect(pressed(event)).toBe(name);
});

test.each([
  ['words here', { kind: 'all', rest: 'words here' }],
  ['>pause', { kind: 'acts', rest: 'pause' }],
  ['# 019', { kind: 'executions', rest: '019' }],
  ['@enrich', { kind: 'steps', rest: 'enrich' }],
  [':44', { kind: 'record', rest: '44' }],
  ['?', { kind: 'keys', rest: '' }],
])('%s looks for %j', (text, mode) => {
  expect(modeOf(text)).toEqual(mode);
});

test('commands fit by all their words, in their group', () => {
  const act: Command = {
    id: 'x',
    label: 'Run again from here',
    more: 'rerun',
    group: 'Acts',
    run: () => undefined,
  };
  expect(fits(act, modeOf('again run'))).toBe(true);
  expect(fits(act, modeOf('again never'))).toBe(false);
  expect(fits(act, modeOf('@again'))).toBe(false);
  expect(fits(act, modeOf('>rerun'))).toBe(true);
  expect(fits(act, modeOf('#rerun'))).toBe(false);
});

test('every status has a colour, a word and an icon; what nobody knows is shown by its name', () => {
  for (const status of [
    'running',
    'waiting',
    'paused',
    'completed',
    'partial',
    'failed',
    'aborted',
    'stuck',
    'compensating',
  ]) {
    const look = lookOf(status);
    expect(TOKENS).toContain(look.token);
    expect(look.word).not.toBe('');
    expect(look.icon).toBeTruthy();
  }
  expect(lookOf('something new').word).toBe('something new');
  expect(lookOf('waiting', 'incident').token).toBe('stuck');
});

test('what is said of an arc stands in its middle', () => {
  expect(
    middle([
      [0, 0],
      [10, 20],
    ]),
  ).toEqual([5, 10]);
  expect(
    middle([
      [0, 0],
      [0, 10],
      [10, 10],
      [10, 20],
    ]),
  ).toEqual([5, 10]);
  expect(middle([])).toEqual([0, 0]);
});
