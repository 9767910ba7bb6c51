/** Everything that can be done about a trigger. */
import { CirclePause, CirclePlay, type LucideIcon, RotateCw } from 'lucide-react';
import { API, type Call } from '../api/client';
import type { TriggerItem } from '../api/triggers';
import type { Act, Doer, Field, Form, Power } from './registry';

export interface TriggerView extends Doer {
  trigger: TriggerItem;
  /** The dead letters that are meant; all of them where none is named. */
  letters: readonly string[];
}

export type TriggerAct = Act<TriggerView>;

const reason: Field<TriggerView> = {
  name: 'reason',
  label: 'Reason',
  kind: 'text',
  needed: false,
  start: () => '',
};

interface Plain {
  id: 'pause' | 'resume' | 'replay';
  label: string;
  icon: LucideIcon;
  keys: string;
  permission: Power;
  when: (view: TriggerView) => string | null;
  says: (view: TriggerView) => string;
  fields?: readonly Field<TriggerView>[];
  body?: (view: TriggerView, form: Form) => Call['body'];
  cli?: (view: TriggerView, form: Form) => string[];
}

function plain(act: Plain): TriggerAct {
  return {
    id: act.id,
    label: act.label,
    icon: act.icon,
    keys: act.keys,
    on: 'trigger',
    permission: act.permission,
    danger: false,
    makes: false,
    tried: null,
    when: act.when,
    says: act.says,
    fields: act.fields ?? [],
    call: (view, form) => ({
      method: 'POST',
      path: `${API}/triggers/${encodeURIComponent(view.trigger.name)}/${act.id}`,
      ...(act.body ? { body: act.body(view, form) } : {}),
    }),
    cli: (view, form) => ['trigger', act.id, view.trigger.name, ...(act.cli?.(view, form) ?? [])],
  };
}

export const TRIGGER_ACTS: readonly TriggerAct[] = [
  plain({
    id: 'pause',
    label: 'Pause',
    icon: CirclePause,
    keys: 'p',
    permission: 'steer',
    when: ({ trigger }) => (trigger.paused ? 'it is paused already' : null),
    says: () => 'Nothing is started any more until it is resumed; webhooks are told to come again.',
    fields: [reason],
    body: (_, form) => ({ reason: form.reason ?? '' }),
    cli: (_, form) => (form.reason ? ['--reason', form.reason] : []),
  }),
  plain({
    id: 'resume',
    label: 'Resume',
    icon: CirclePlay,
    keys: 'u',
    permission: 'steer',
    when: ({ trigger }) => (trigger.paused ? null : 'it is not paused'),
    says: () => 'It takes events again; those of the pause are not made up for, files apart.',
  }),
  plain({
    id: 'replay',
    label: 'Try again',
    icon: RotateCw,
    keys: 'r',
    permission: 'start',
    when: ({ trigger }) => (trigger.dead ? null : 'it has no dead letter'),
    says: ({ trigger, letters }) => {
      const number = letters.length || trigger.dead;
      const which = number === 1 ? '1 dead letter is' : `${number} dead letters are`;
      return `${which} tried again. The same event starts one execution at most.`;
    },
    body: ({ letters }) => ({ ids: [...letters] }),
    cli: ({ letters }) => [...letters],
  }),
];
