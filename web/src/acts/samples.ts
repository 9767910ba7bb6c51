/** A work item and a schedule that tests act on. */
import type { WorkItem } from '../api/items';
import type { Schedule } from '../api/schedules';

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
  next: [],
  due: null,
  running: [],
  queued: [],
  started: 0,
  passed: {},
  trouble: null,
  execution: 'schedule-1',
  last: [],
};
