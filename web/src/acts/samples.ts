/** What tests act on: every act there is, with something to act on and a form that is filled in. */
import type { WorkItem } from '../api/items';
import type { NotificationItem } from '../api/notifications';
import type { Schedule } from '../api/schedules';
import type { TriggerItem } from '../api/triggers';
import type { Act, ActView, Doer, Form } from './act';
import { BULK_ACTS } from './bulk';
import { completing, ITEM_ACTS, saving } from './items';
import { NOTIFICATION_ACTS } from './notifications';
import { APPLY } from './playbooks';
import { ACTS } from './registry';
import { SAVE_SCHEDULE, SCHEDULE_ACTS } from './schedules';
import { START } from './starting/start';
import { TRIGGER_ACTS } from './triggers';

export const ITEM: WorkItem = {
  id: 'i1',
  execution: 'e 1',
  step: 'ask',
  title: 'Pay?',
  state: 'offered',
  created: null,
  updated: null,
  due: null,
  priority: 0,
  users: ['ada'],
  roles: [],
  excluded: [],
  holder: null,
  namespace: 'default',
  body: { spec: {}, draft: null, comments: [], decision: null },
};

export const SCHEDULE: Schedule = {
  name: 'a b',
  playbook: 'load',
  version: null,
  cron: '30 2 * * *',
  every_s: null,
  at: null,
  timezone: 'UTC',
  words: '',
  overlap: 'skip',
  catch_up_s: 60,
  jitter_s: 0,
  workload: {},
  paused: false,
  document: {},
  digest: 'd',
  next: [],
  due: null,
  running: [],
  queued: [],
  filling: null,
  started: 0,
  passed: {},
  trouble: null,
  execution: 'schedule-1',
  last: [],
};

export const NOTIFICATION: NotificationItem = {
  id: 'ntf_1',
  execution: 'e 1',
  namespace: 'default',
  channel: 'post',
  about: 'execution.failed',
  person: '',
  state: 'given_up',
  due: '2026-01-01T00:00:00Z',
  created: '2026-01-01T00:00:00Z',
  updated: '2026-01-01T00:00:00Z',
  attempts: 3,
  sending: 'ntf_1',
  error: 'HTTP 500',
  title: 'It failed',
  text: '',
};

export const TRIGGER: TriggerItem = {
  name: 'orders',
  playbook: 'load',
  version: null,
  source: 'webhook',
  words: 'POST /hooks/orders',
  document: {},
  digest: 'd',
  paused: false,
  reason: null,
  dead: 2,
  watch: null,
  last: [],
};

export const VIEW: ActView = {
  id: '019f3c-a2f6',
  status: 'waiting',
  version: 45,
  step: 'pay',
  stepActive: true,
  seq: 44,
  live: true,
  playbook: 'orders',
  may: ['see', 'start', 'steer', 'decide'],
  offline: false,
};

export const FILLED: Form = {
  reason: "it's late",
  name: 'paid',
  payload: '{"amount": 3}',
  values: '{"total": 1, "note": "a b"}',
  result: '{"ok": true}',
  outcome: 'ok',
  to: 'bob',
  from: 'pay',
  group: 'spread',
  change: 'add',
  item: '{"n": 1}',
  playbook: 'orders',
  version: 'v2',
  renamed: '{"old": "new"}',
  format: 'xes',
  profile: 'firings',
};

/** One act, with what it is about. */
export interface Sample {
  group: string;
  act: Act;
  view: Doer;
  form: Form;
}

/** What is about something else is called like what is about executions: with what it is about. */
function samples<V extends Doer>(group: string, acts: readonly Act<V>[], view: V, more: Form = {}): Sample[] {
  return acts.map((act) => ({ group, act: act as unknown as Act, view, form: { ...FILLED, ...more } }));
}

const DATES = { from: '2026-01-01', to: '2026-01-02' };
const ITEM_VIEW = { ...VIEW, item: { ...ITEM, execution: VIEW.id }, me: 'ada' };
const DRAFT = { name: 'nightly', text: 'kind: Schedule\n', changed: true, may: [...VIEW.may, 'apply'] };
const TEXT = { ...VIEW, path: 'a/b', text: 'kind: Playbook', unfit: null, may: ['apply'] };
const SOME = { ids: ['e1', 'e2'] };
const MATCHING = {
  filter: {
    status: ['failed', 'stuck'],
    playbook: 'orders',
    label: ['env:prod'],
    q: 'a b',
    since: DATES.from,
  },
};

/** Every act that there is. */
export const EVERY: readonly Sample[] = [
  ...samples('execution', ACTS, VIEW),
  ...samples('execution, otherwise', ACTS, VIEW, {
    outcome: 'error',
    result: '"no"',
    change: 'close',
    version: '',
    format: 'csv',
  }),
  ...samples(
    'item',
    [...ITEM_ACTS, completing('approve', 0, { amount: 1 }), saving({ amount: 1 })],
    ITEM_VIEW,
  ),
  ...samples('schedule', SCHEDULE_ACTS, { ...VIEW, schedule: SCHEDULE }, DATES),
  ...samples('a new schedule', [SAVE_SCHEDULE], { ...VIEW, ...DRAFT, replaces: null }),
  ...samples('a changed schedule', [SAVE_SCHEDULE], { ...VIEW, ...DRAFT, replaces: 'd1' }),
  ...samples('bulk', BULK_ACTS, { ...VIEW, which: SOME }),
  ...samples('bulk, by filter', BULK_ACTS, { ...VIEW, which: MATCHING }),
  ...samples('notification', NOTIFICATION_ACTS, { ...VIEW, notification: NOTIFICATION }),
  ...samples('trigger', TRIGGER_ACTS, { ...VIEW, trigger: TRIGGER, letters: [] }),
  ...samples('trigger, one letter', TRIGGER_ACTS, { ...VIEW, trigger: TRIGGER, letters: ['dl_1'] }),
  ...samples('apply', [APPLY], { ...TEXT, replaces: '"d1"' }),
  ...samples('apply what is new', [APPLY], { ...TEXT, replaces: null }),
  ...samples('start', [START], { ...VIEW, path: 'a/b', workload: { a: 1 }, labels: { env: 'prod' } }),
  ...samples('start a text', [START], {
    ...VIEW,
    path: 'a/b',
    text: 'kind: Playbook',
    workload: {},
    labels: {},
  }),
];
