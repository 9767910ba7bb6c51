/** Everything that can be done about a work item, drawn from like the acts on executions. */
import {
  Ban,
  Check,
  CirclePause,
  CirclePlay,
  CircleX,
  Hand,
  type LucideIcon,
  MessageSquare,
  Save,
  Undo2,
  UserRoundCheck,
  UserRoundPlus,
} from 'lucide-react';
import { API, type Call } from '../api/client';
import { isOpen, type WorkItem } from '../api/items';
import type { Json } from '../api/shapes';
import type { Act, Doer, Field, Form } from './act';
import { dryRun } from './trying';

export interface ItemView extends Doer {
  item: WorkItem;
  me: string;
}

export type ItemAct = Act<ItemView>;

const seg = encodeURIComponent;

const call = (view: ItemView, act: string, body: Record<string, Json> = {}): Call => ({
  method: 'POST',
  path: `${API}/work-items/${seg(view.item.execution)}/${seg(view.item.id)}/${act}`,
  body,
});

const cli = (view: ItemView, act: string, ...more: string[]): string[] => [
  'task',
  act,
  `${view.item.execution}/${view.item.id}`,
  ...more,
];

function open(view: ItemView): string | null {
  return isOpen(view.item) ? null : `it is ${view.item.state}`;
}

function free(view: ItemView): string | null {
  const { item, me } = view;
  if (item.holder && item.holder !== me) return `'${item.holder}' holds it`;
  return open(view);
}

function held(view: ItemView): string | null {
  const { item, me } = view;
  if (item.holder === me) return open(view);
  return open(view) ?? (item.holder ? `'${item.holder}' holds it` : 'claim it first');
}

const said = (label: string, needed: boolean): Field<ItemView> => ({
  name: 'reason',
  label,
  kind: 'text',
  needed,
  start: () => '',
});

const whom: Field<ItemView> = { name: 'to', label: 'To whom', kind: 'user', needed: true, start: () => '' };

const why = (form: Form) => (form.reason ? ['--reason', form.reason] : []);

interface Plain {
  id: string;
  label: string;
  icon: LucideIcon;
  keys: string;
  when: (view: ItemView) => string | null;
  says: string;
  fields?: readonly Field<ItemView>[];
  danger?: boolean;
}

/** An act whose call and command line are made of its name and its fields. */
function plain(act: Plain): ItemAct {
  return {
    id: act.id,
    label: act.label,
    icon: act.icon,
    keys: act.keys,
    on: 'item',
    permission: 'decide',
    danger: act.danger ?? false,
    makes: false,
    tried: dryRun,
    when: act.when,
    says: () => act.says,
    fields: act.fields ?? [],
    call: (view, form) => call(view, act.id, { ...form }),
    cli: (view, form) => cli(view, act.id, ...(form.to ? ['--to', form.to] : []), ...why(form)),
  };
}

export const ITEM_ACTS: readonly ItemAct[] = [
  plain({
    id: 'claim',
    label: 'Claim',
    icon: UserRoundCheck,
    keys: 'c',
    when: (view) => free(view) ?? (view.item.holder ? 'you hold it already' : null),
    says: 'It becomes yours; others see that you have it.',
  }),
  plain({
    id: 'release',
    label: 'Release',
    icon: Undo2,
    keys: 'u',
    when: held,
    says: 'It goes back to everybody who was asked.',
    fields: [said('Reason', false)],
  }),
  plain({
    id: 'delegate',
    label: 'Delegate…',
    icon: UserRoundPlus,
    keys: 'd',
    when: held,
    says: 'Somebody else does it, and it comes back to you.',
    fields: [whom, said('Reason', false)],
  }),
  plain({
    id: 'reassign',
    label: 'Reassign…',
    icon: UserRoundPlus,
    keys: 'Shift+D',
    when: (view) => (view.item.holder ? held(view) : open(view)),
    says: 'It is somebody else’s from now on.',
    fields: [whom, said('Reason', false)],
  }),
  plain({
    id: 'suspend',
    label: 'Put aside',
    icon: CirclePause,
    keys: 'Shift+P',
    when: (view) => held(view) ?? (view.item.state === 'suspended' ? 'it is put aside already' : null),
    says: 'Its clocks stand still until it is taken up again.',
    fields: [said('Reason', false)],
  }),
  plain({
    id: 'resume',
    label: 'Take up again',
    icon: CirclePlay,
    keys: 'Shift+R',
    when: (view) => held(view) ?? (view.item.state === 'suspended' ? null : 'it is not put aside'),
    says: 'Its clocks go on.',
  }),
  plain({
    id: 'comment',
    label: 'Comment…',
    icon: MessageSquare,
    keys: 'm',
    when: open,
    says: 'Everybody who sees the work item sees it.',
    fields: [said('Comment', true)],
  }),
  plain({
    id: 'fail',
    label: 'It cannot be done…',
    icon: CircleX,
    keys: 'Shift+F',
    when: free,
    says: 'The step fails; the playbook says what comes then.',
    fields: [said('Reason', true)],
    danger: true,
  }),
  plain({
    id: 'cancel',
    label: 'Call it off…',
    icon: Ban,
    keys: 'Shift+C',
    when: held,
    says: 'Nobody is asked any more; the step fails as cancelled.',
    fields: [said('Reason', true)],
    danger: true,
  }),
];

/** Keep what is filled in so far. */
export function saving(data: Json): ItemAct {
  return {
    ...plain({ id: 'save', label: 'Save', icon: Save, keys: 'Mod+s', when: held, says: 'A draft is kept.' }),
    call: (view) => call(view, 'save', { data }),
    cli: (view) => cli(view, 'save', '--data', JSON.stringify(data)),
  };
}

/** Decide: one of the actions that the playbook names, with what was filled in. */
export function completing(action: string, place: number, data: Json): ItemAct {
  return {
    id: `complete:${action}`,
    label: action,
    icon: place === 0 ? Check : Hand,
    keys: String(place + 1),
    on: 'item',
    permission: 'decide',
    danger: false,
    makes: false,
    tried: dryRun,
    when: (view) =>
      free(view) ?? (view.item.state === 'suspended' ? 'it is put aside; take it up first' : null),
    says: (view) => `'${view.item.title}' is decided: ${action}. The execution goes on.`,
    fields: [],
    call: (view) => call(view, 'complete', { action, data }),
    cli: (view) => cli(view, 'complete', action, '--data', JSON.stringify(data)),
  };
}
