import { expect, it } from 'vitest';
import type { TriggerItem } from '../api/triggers';
import { hindrance } from './act';
import { TRIGGER, VIEW } from './samples';
import { TRIGGER_ACTS, type TriggerView } from './triggers';

const view = (change: Partial<TriggerItem> = {}, letters: string[] = []): TriggerView => ({
  ...VIEW,
  trigger: { ...TRIGGER, ...change },
  letters,
});
const allowed = (now: TriggerView) => TRIGGER_ACTS.filter((act) => !hindrance(act, now)).map((act) => act.id);

it('is paused once and resumed once; without dead letters nothing is tried again', () => {
  expect(allowed(view())).toEqual(['pause', 'replay']);
  expect(allowed(view({ paused: true, dead: 0 }))).toEqual(['resume']);
});

it('one letter is tried again, or all of them', () => {
  const replay = TRIGGER_ACTS.find((act) => act.id === 'replay');
  expect(replay?.says(view())).toContain('2 dead letters are');
  expect(replay?.says(view({}, ['one']))).toContain('1 dead letter is');
  expect(replay?.call(view({}, ['one']), {}).body).toEqual({ ids: ['one'] });
  expect(replay?.cli(view({}, ['one']), {})).toEqual(['trigger', 'replay', 'orders', 'one']);
});
