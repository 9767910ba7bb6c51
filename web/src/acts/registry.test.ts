import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { hindrance, mistakes, startForm } from './act';
import { asCli, asCurl, asPython, quoted } from './copy';
import { actOf } from './registry';
import { EVERY, VIEW } from './samples';
import { trial } from './trying';

const POWERS = ['see', 'start', 'steer', 'decide', 'apply', 'administer'];
const DESCRIBED = (
  JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')) as {
    paths: Record<string, Record<string, { parameters?: { name: string }[] }>>;
  }
).paths;

/** What the description of the API says of a call. */
function described(method: string, path: string) {
  const parts = (path.split('?')[0] ?? '').split('/');
  const fits = (template: string) => {
    const wanted = template.split('/');
    return (
      wanted.length === parts.length && wanted.every((one, n) => one.startsWith('{') || one === parts[n])
    );
  };
  const found = Object.keys(DESCRIBED).find(
    (template) => fits(template) && method.toLowerCase() in DESCRIBED[template]!,
  );
  return found ? DESCRIBED[found]![method.toLowerCase()] : undefined;
}

describe.each(EVERY.map((one) => [one.group, one.act.id, one] as const))('%s: %s', (_, __, one) => {
  const { act, form } = one;
  const view = one.view as typeof VIEW;

  test('has everything that an act has', () => {
    expect(act.label).not.toBe('');
    expect(act.keys).toMatch(/^((Shift|Mod)\+)?\w+$/);
    expect(POWERS).toContain(act.permission);
    expect(act.says(view)).toMatch(/\.$/);
    expect(act.icon).toBeTruthy();
  });

  test('is one public call, and can be tried where it says so', () => {
    const call = act.call(view, form);
    const found = described(call.method, call.path);
    expect(found, `${call.method} ${call.path}`).toBeDefined();
    const names = found?.parameters?.map((parameter) => parameter.name) ?? [];
    expect(act.tried !== null, 'an act is tried exactly where the API can').toBe(names.includes('dry_run'));
    if (act.tried) expect(trial(call).path).toMatch(/[?&]dry_run=true$/);
  });

  test('needs its permission, and a server', () => {
    expect(hindrance(act, { ...view, may: [] })).toContain(act.permission);
    expect(hindrance(act, { ...view, offline: true })).toContain('server');
  });

  test('asks for a reason where it is dangerous', () => {
    if (act.danger) expect(mistakes(act, { ...form, reason: ' ' })).toHaveProperty('reason');
    expect(mistakes(act, form)).toEqual({});
  });

  test('is written as a command line, as curl and as Python without a secret', () => {
    const call = act.call(view, form);
    expect(act.cli(view, form).length).toBeGreaterThan(1);
    expect(asCurl(call, 'http://127.0.0.1:1')).toContain('Bearer $PETRA_TOKEN');
    expect(asPython(call, 'http://127.0.0.1:1')).toContain("os.environ['PETRA_TOKEN']");
  });
});

test('no two acts on the same have one key or name', () => {
  for (const group of new Set(EVERY.map((one) => one.group))) {
    const acts = EVERY.filter((one) => one.group === group).map((one) => one.act);
    expect(new Set(acts.map((act) => act.keys)).size, group).toBe(acts.length);
    expect(new Set(acts.map((act) => act.id)).size, group).toBe(acts.length);
  }
});

test('no page makes an act of its own: what changes something stands here', () => {
  const folder = new URL('../features/', import.meta.url);
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.tsx?$/.test(name),
  );
  const own = files.filter((name) =>
    /method: '(POST|PUT|PATCH|DELETE)'/.test(readFileSync(new URL(name, folder), 'utf8')),
  );
  expect(own).toEqual([]);
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
  const lines = [...EVERY.map((one) => one.act.cli(one.view as typeof VIEW, one.form)), ['get', VIEW.id]];
  const text = `${JSON.stringify(lines, null, 1)}\n`;
  if (process.env.PETRA_WRITE || !existsSync(file)) writeFileSync(file, text);
  expect(readFileSync(file, 'utf8')).toBe(text);
  expect(asCli(lines[0] ?? [])).toMatch(/^petra pause /);
});
