/** Everything that can be done to a schedule. */
import { CalendarClock, CirclePause, CirclePlay, History, Save, Trash2 } from 'lucide-react';
import { API, inPlaceOf } from '../api/client';
import type { Schedule } from '../api/schedules';
import type { Act, Doer } from './act';
import { actsOn, textField, withReason } from './named';
import { backfilled } from './trying';

export interface ScheduleView extends Doer {
  schedule: Schedule;
}

export type ScheduleAct = Act<ScheduleView>;

const plain = actsOn<ScheduleView>('schedule', (view) => view.schedule.name);

export const SCHEDULE_ACTS: readonly ScheduleAct[] = [
  plain({
    id: 'run',
    label: 'Run now',
    icon: CalendarClock,
    keys: 'r',
    permission: 'start',
    when: () => null,
    says: (view) => `'${view.schedule.playbook}' is started once, now; what is due later stays as it is.`,
  }),
  plain({
    id: 'pause',
    label: 'Pause',
    icon: CirclePause,
    keys: 'p',
    permission: 'steer',
    when: (view) => (view.schedule.paused ? 'it is paused already' : null),
    says: () => 'Nothing is started any more until it is resumed; what passes meanwhile is not made up for.',
    ...withReason(),
  }),
  plain({
    id: 'resume',
    label: 'Resume',
    icon: CirclePlay,
    keys: 'u',
    permission: 'steer',
    when: (view) => (view.schedule.paused ? null : 'it is not paused'),
    says: () => 'It goes on with the next time that is due.',
  }),
  plain({
    id: 'backfill',
    label: 'Fill in the past',
    icon: History,
    keys: 'b',
    permission: 'start',
    when: (view) => (view.schedule.at ? 'it has one time only' : null),
    says: (view) =>
      `'${view.schedule.playbook}' is started for every time of the range, one after the other.`,
    fields: [textField('from', 'From (a date)', true), textField('to', 'To (a date)', true)],
    body: (_, form) => ({ from: form.from ?? '', to: form.to ?? '' }),
    tried: backfilled,
    cli: (_, form) => ['--from', form.from ?? '', '--to', form.to ?? '', '--yes'],
  }),
  {
    id: 'remove',
    label: 'Remove',
    icon: Trash2,
    keys: 'x',
    on: 'schedule',
    permission: 'apply',
    danger: false,
    makes: false,
    tried: null,
    when: () => null,
    says: (view) =>
      `'${view.schedule.name}' is kept no more, and nothing is started by it; what it started goes on, and its log stays.`,
    fields: [],
    call: (view) => ({
      method: 'DELETE',
      path: `${API}/schedules/${encodeURIComponent(view.schedule.name)}`,
    }),
    cli: (view) => ['schedule', 'rm', view.schedule.name],
  },
];

/** A schedule as somebody writes it, new or changed. */
export interface ScheduleDraftView extends Doer {
  name: string;
  text: string;
  changed: boolean;
  /** The digest of the text that it takes the place of; null for one that is new. */
  replaces: string | null;
}

export const SAVE_SCHEDULE: Act<ScheduleDraftView> = {
  id: 'save',
  label: 'Save',
  icon: Save,
  keys: 'Mod+s',
  on: 'schedule',
  permission: 'apply',
  danger: false,
  makes: false,
  tried: null,
  when: (view) => (view.changed ? null : 'nothing has changed'),
  says: (view) => `'${view.name}' is kept as it stands here from now on; what runs goes on.`,
  fields: [],
  call: (view) => ({
    method: 'PUT',
    path: `${API}/schedules/${encodeURIComponent(view.name)}`,
    body: { text: view.text },
    headers: inPlaceOf(view.replaces && `"${view.replaces}"`),
  }),
  cli: (view) => ['apply', `${view.name}.yaml`],
};
