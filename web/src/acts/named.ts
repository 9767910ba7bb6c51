/** Acts on what a server keeps under a name, schedules and triggers: a call below its address, a verb of its command. */
import type { LucideIcon } from 'lucide-react';
import { API, type Call } from '../api/client';
import type { Act, Doer, Field, Form, Power } from './act';
import type { Tried } from './trying';

/** What such an act has of its own. */
export interface NamedAct<V> {
  id: string;
  label: string;
  icon: LucideIcon;
  keys: string;
  permission: Power;
  when: (view: V) => string | null;
  says: (view: V) => string;
  fields?: readonly Field<V>[];
  body?: (view: V, form: Form) => Call['body'];
  cli?: (view: V, form: Form) => string[];
  tried?: Tried;
}

/** Make acts on one kind of document. */
export function actsOn<V extends Doer>(kind: 'schedule' | 'trigger', nameOf: (view: V) => string) {
  return (act: NamedAct<V>): Act<V> => ({
    id: act.id,
    label: act.label,
    icon: act.icon,
    keys: act.keys,
    on: kind,
    permission: act.permission,
    danger: false,
    makes: false,
    tried: act.tried ?? null,
    when: act.when,
    says: act.says,
    fields: act.fields ?? [],
    call: (view, form) => ({
      method: 'POST',
      path: `${API}/${kind}s/${encodeURIComponent(nameOf(view))}/${act.id}`,
      ...(act.body ? { body: act.body(view, form) } : {}),
    }),
    cli: (view, form) => [kind, act.id, nameOf(view), ...(act.cli?.(view, form) ?? [])],
  });
}

/** A line of text that is asked for. */
export function textField<V>(name: string, label: string, needed: boolean): Field<V> {
  return { name, label, kind: 'text', needed, start: () => '' };
}

/** How an act asks for a reason, and hands it on. */
export function withReason<V>(): Pick<NamedAct<V>, 'fields' | 'body' | 'cli'> {
  return {
    fields: [textField('reason', 'Reason', false)],
    body: (_, form) => ({ reason: form.reason ?? '' }),
    cli: (_, form) => (form.reason ? ['--reason', form.reason] : []),
  };
}
