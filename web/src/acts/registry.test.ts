import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { asCli, asCurl, asPython, quoted } from './copy';
import { completing, ITEM_ACTS, saving } from './items';
import { ACTS, type ActView, actOf, type Form, hindrance, mistakes, startForm } from './registry';
import { ITEM, SCHEDULE } from './samples';
import { SCHEDULE_ACTS } from './schedules';

const VIEW: ActView = {
  id: '019f3c-a2f6',
  status: 'waiting',
  version: 45,
  step: 'pay',
  stepActive: true,
  seq: 44,
  live: true,
  may: ['see', 'start', 'steer'],
  offline: false,
};

const FILLED: Form = {
  reason: "it's late",
  name: 'paid',
  payload: '{"amount": 3}',
  values: '{"total": 1, "note": "a b"}',
  result: '{"ok": true}',
  outcome: 'ok',
};

describe.each(ACTS.map((act) => [act.id, act] as const))('the act %s', (_, act) => {
  test('has everything that an act has', () => {
    expect(act.label).not.toBe('');
    expect(act.keys).not.toBe('');
    expect(act.says(VIEW)).toMatch(/\.$/);
    expect(act.icon).toBeTruthy();
  });

  test('is one public call', () => {
    const call = act.call(VIEW, FILLED);
    expect(call.path).toMatch(/^\/api\/v1\/executions\/019f3c-a2f6\//);
    expect(act.cli(VIEW, FILLED)).toContain('019f3c-a2f6');
  });

  test('needs its permission, and a server', () => {
    expect(hindrance(act, { ...VIEW, may: [] })).toContain(act.permission);
    expect(hindrance(act, { ...VIEW, offline: true })).toContain('server');
  });

  test('asks for a reason where it is dangerous', () => {
    if (act.danger) expect(mistakes(act, { ...FILLED, reason: ' ' })).toHaveProperty('reason');
    expect(mistakes(act, FILLED)).toEqual({});
  });

  test('is written as curl and as Python without a secret', () => {
    const call = act.call(VIEW, FILLED);
    expect(asCurl(call, 'http://127.0.0.1:1')).toContain('Bearer $PETRA_TOKEN');
    expect(asPython(call, 'http://127.0.0.1:1')).toContain("os.environ['PETRA_TOKEN']");
  });
});

test('no two acts have the same key or name', () => {
  expect(new Set(ACTS.map((act) => act.keys)).size).toBe(ACTS.length);
  expect(new Set(ACTS.map((act) => act.id)).size).toBe(ACTS.length);
});

test('what is over or past is not acted on, but can be gone on from', () => {
  for (const id of ['pause', 'cancel', 'signal', 'patch', 'override', 'retry']) {
    expect(hindrance(actOf(id), { ...VIEW, status: 'completed' }), id).toContain('over');
    expect(hindrance(actOf(id), { ...VIEW, live: false }), id).toContain('past');
  }
  for (const id of ['rerun', 'fork', 'verify']) {
    expect(hindrance(actOf(id), { ...VIEW, status: 'failed', live: false }), id).toBeNull();
  }
});

test('pause and resume exclude each other', () => {
  expect(hindrance(actOf('pause'), { ...VIEW, status: 'paused' })).not.toBeNull();
  expect(hindrance(actOf('resume'), { ...VIEW, status: 'paused' })).toBeNull();
  expect(hindrance(actOf('resume'), VIEW)).not.toBeNull();
});

test('what is no JSON is said beside its field', () => {
  expect(mistakes(actOf('patch'), { values: '{', reason: '' })).toHaveProperty('values');
  expect(startForm(actOf('patch'), VIEW)).toEqual({ values: '{}', reason: '' });
});

test('names in addresses are escaped', () => {
  const call = actOf('signal').call({ ...VIEW, id: 'a/b' }, { name: 'x/../y?z' });
  expect(call.path).toBe('/api/v1/executions/a%2Fb/signals/x%2F..%2Fy%3Fz');
});

test.each([
  ['plain', 'plain'],
  ['two words', "'two words'"],
  ["it's", `'it'\\''s'`],
  ['$(rm -rf /)', "'$(rm -rf /)'"],
  ['', "''"],
])('%j is %s to a shell', (word, shell) => {
  expect(quoted(word)).toBe(shell);
});

test('the command lines are those that the Python tests parse with the real commands', () => {
  const file = new URL('../../tests/fixtures/cli.json', import.meta.url);
  const lines = ACTS.flatMap((act) => [
    act.cli(VIEW, FILLED),
    act.cli(VIEW, { ...FILLED, outcome: 'error', result: '"no"' }),
  ]).concat([
    ['start', 'a/b', '--workload', '{"a": 1}', '--label', 'env=prod'],
    ['get', VIEW.id],
    ...[...ITEM_ACTS, completing('approve', 0, { amount: 1 }), saving({ amount: 1 })].map((act) =>
      act.cli(
        { ...VIEW, item: { ...ITEM, execution: VIEW.id }, me: 'ada' },
        { to: 'bob', reason: "it's late" },
      ),
    ),
    ...SCHEDULE_ACTS.map((act) =>
      act.cli({ ...VIEW, schedule: SCHEDULE }, { reason: 'so', from: '2026-01-01', to: '2026-01-02' }),
    ),
  ]);
  const text = `${JSON.stringify(lines, null, 1)}\n`;
  if (process.env.PETRA_WRITE || !existsSync(file)) writeFileSync(file, text);
  expect(readFileSync(file, 'utf8')).toBe(text);
  expect(asCli(lines[0] ?? [])).toMatch(/^petra pause /);
});
