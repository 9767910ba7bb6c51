import { describe, expect, it } from 'vitest';
import type { Schedule } from '../api/schedules';
import { hindrance, startForm } from './act';
import { SCHEDULE } from './samples';
import { SAVE_SCHEDULE, SCHEDULE_ACTS, type ScheduleDraftView, type ScheduleView } from './schedules';

function view(change: Partial<Schedule> = {}, more: Partial<ScheduleView> = {}): ScheduleView {
  return { schedule: { ...SCHEDULE, ...change }, may: ['start', 'steer'], offline: false, ...more };
}

const allowed = (now: ScheduleView) =>
  SCHEDULE_ACTS.filter((act) => !hindrance(act, now)).map((act) => act.id);

describe('every act on a schedule', () => {
  const posted = SCHEDULE_ACTS.filter((one) => one.id !== 'remove');
  it.each(posted.map((one) => [one.id, one] as const))('%s has a call and a line', (id, act) => {
    const form = { ...startForm(act, view()), from: '2026-01-01', to: '2026-01-02' };
    expect(act.call(view(), form).path).toBe(`/api/v1/schedules/a%20b/${id}`);
    expect(act.cli(view(), form).slice(0, 3)).toEqual(['schedule', id, 'a b']);
    expect(act.says(view())).not.toBe('');
  });
});

it('is removed by who may apply, after a word of what stays', () => {
  const remove = SCHEDULE_ACTS.find((act) => act.id === 'remove')!;
  expect(remove.call(view(), {})).toEqual({ method: 'DELETE', path: '/api/v1/schedules/a%20b' });
  expect(remove.cli(view(), {})).toEqual(['schedule', 'rm', 'a b']);
  expect(hindrance(remove, view())).toContain("'apply'");
  expect(hindrance(remove, view({}, { may: ['apply'] }))).toBeNull();
});

it('is paused once, and resumed once', () => {
  expect(allowed(view())).toEqual(['run', 'pause', 'backfill']);
  expect(allowed(view({ paused: true }))).toEqual(['run', 'resume', 'backfill']);
});

it('a schedule of one time has no past to fill in, and who only sees does nothing', () => {
  expect(allowed(view({ at: '2026-01-01T00:00:00Z', cron: null }))).toEqual(['run', 'pause']);
  expect(allowed(view({}, { may: ['see'] }))).toEqual([]);
});

const DRAFT: ScheduleDraftView = {
  name: 'a b',
  text: 'kind: Schedule\n',
  changed: true,
  replaces: 'd1',
  may: ['apply'],
  offline: false,
};

it('a changed schedule takes the place of the text that was seen, a new one of none', () => {
  expect(SAVE_SCHEDULE.call(DRAFT, {})).toEqual({
    method: 'PUT',
    path: '/api/v1/schedules/a%20b',
    body: { text: 'kind: Schedule\n' },
    headers: { 'If-Match': '"d1"' },
  });
  expect(SAVE_SCHEDULE.call({ ...DRAFT, replaces: null }, {}).headers).toEqual({ 'If-None-Match': '*' });
});

it('what is unchanged is not saved, nor by who may not apply', () => {
  expect(hindrance(SAVE_SCHEDULE, DRAFT)).toBeNull();
  expect(hindrance(SAVE_SCHEDULE, { ...DRAFT, changed: false })).toBe('nothing has changed');
  expect(hindrance(SAVE_SCHEDULE, { ...DRAFT, may: ['see', 'steer'] })).toContain("'apply'");
});
