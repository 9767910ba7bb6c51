import { expect, test } from 'vitest';
import { hindrance } from '../act';
import { START, type StartView } from './start';
import { draftOf, labelsOf, workloadOf } from './workload';

test.each(['[1]', '{', '', '"a"', 'null'])('%j is no workload', (text) => {
  expect(workloadOf(text)).toBeNull();
});

test('labels are pairs, and may have = in their values', () => {
  expect(labelsOf(' env=prod  q=a=b  word ')).toEqual({ env: 'prod', q: 'a=b' });
});

test.each([null, '', '{', 'null', '[]', '{"text": 1}'])('%j is no draft', (kept) => {
  expect(draftOf(kept)).toBeNull();
});

test('a draft is what was filled in', () => {
  expect(draftOf('{"text": "{", "label": "a=b"}')).toEqual({ text: '{', label: 'a=b' });
  expect(draftOf('{"text": "{}"}')).toEqual({ text: '{}', label: '' });
});

const VIEW: StartView = {
  path: 'a/b',
  workload: { who: "it's" },
  labels: { env: 'prod' },
  may: ['start'],
  offline: false,
};

test('what is applied is started by its path, a text as it stands', () => {
  expect(START.call(VIEW, {}).body).toMatchObject({ playbook: 'a/b', workload: { who: "it's" } });
  expect(START.cli(VIEW, {}).slice(0, 2)).toEqual(['start', 'a/b']);
  const text = { ...VIEW, text: 'kind: Playbook' };
  expect(START.call(text, {}).body).toMatchObject({ playbook: { text: 'kind: Playbook' } });
  expect(START.cli(text, {}).slice(0, 2)).toEqual(['run', 'a/b.yaml']);
});

test('nothing is started with what is no workload', () => {
  expect(hindrance(START, VIEW)).toBeNull();
  expect(hindrance(START, { ...VIEW, workload: null })).toContain('JSON');
  expect(hindrance(START, { ...VIEW, may: ['see'] })).toContain('start');
});
