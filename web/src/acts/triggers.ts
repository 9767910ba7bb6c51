/** Everything that can be done about a trigger. */
import { CirclePause, CirclePlay, RotateCw } from 'lucide-react';
import type { TriggerItem } from '../api/triggers';
import type { Act, Doer } from './act';
import { actsOn, withReason } from './named';

export interface TriggerView extends Doer {
  trigger: TriggerItem;
  /** The dead letters that are meant; all of them where none is named. */
  letters: readonly string[];
}

export type TriggerAct = Act<TriggerView>;

const plain = actsOn<TriggerView>('trigger', (view) => view.trigger.name);

export const TRIGGER_ACTS: readonly TriggerAct[] = [
  plain({
    id: 'pause',
    label: 'Pause',
    icon: CirclePause,
    keys: 'p',
    permission: 'steer',
    when: ({ trigger }) => (trigger.paused ? 'it is paused already' : null),
    says: () => 'Nothing is started any more until it is resumed; webhooks are told to come again.',
    ...withReason(),
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
