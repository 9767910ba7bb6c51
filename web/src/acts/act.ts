/** What an act is: its call, its command line, who may, and when. The lists of them stand elsewhere. */
import type { LucideIcon } from 'lucide-react';
import type { Call } from '../api/client';
import type { Tried } from './trying';

export type Power = 'see' | 'start' | 'steer' | 'decide' | 'apply' | 'administer';
export type ActOn =
  | 'execution'
  | 'executions'
  | 'step'
  | 'record'
  | 'item'
  | 'schedule'
  | 'playbook'
  | 'notification'
  | 'trigger';

/** What every act is asked with: what the person may, and whether the server is there. */
export interface Doer {
  may: readonly string[];
  offline: boolean;
}

/** What an act is about, as the page has it now. */
export interface ActView extends Doer {
  id: string;
  status: string;
  version: number;
  /** The step of the selection. */
  step: string | null;
  /** The state of that step now, where it is known. */
  stepActive: boolean;
  /** The record that is shown. */
  seq: number;
  live: boolean;
  /** The path of its playbook, where it is known. */
  playbook?: string;
}

export type Form = Record<string, string>;

export interface Field<V = ActView> {
  name: string;
  label: string;
  kind: 'text' | 'json' | 'choice' | 'user';
  needed: boolean;
  options?: readonly { value: string; label: string }[];
  start: (view: V) => string;
}

export interface Act<V extends Doer = ActView> {
  id: string;
  label: string;
  icon: LucideIcon;
  keys: string;
  on: ActOn;
  permission: Power;
  danger: boolean;
  /** Why it cannot be done now; null where it can. */
  when: (view: V) => string | null;
  /** What will happen, in words. */
  says: (view: V) => string;
  fields: readonly Field<V>[];
  call: (view: V, form: Form) => Call;
  cli: (view: V, form: Form) => string[];
  /** Whether what comes of it is an execution of its own, to be gone to. */
  makes: boolean;
  /** How the answer is read when it is only tried; null where it cannot be. */
  tried: Tried | null;
  /** The name of the file that the answer is saved as, where it is one. */
  saves?: (view: V, form: Form) => string;
}

/** What an act is called in a sentence: dots at its end say on a button that it asks for more. */
export function named({ label }: { label: string }): string {
  return label.replace(/…$/, '');
}

/** Why an act cannot be done here and now by this person; null where it can. */
export function hindrance<V extends Doer>(act: Act<V>, view: V): string | null {
  if (view.offline) return 'the server does not answer';
  if (!view.may.includes(act.permission)) return `you may not '${act.permission}' here; ask an administrator`;
  return act.when(view);
}

export function startForm<V extends Doer>(act: Act<V>, view: V): Form {
  return Object.fromEntries(act.fields.map((field) => [field.name, field.start(view)]));
}

/** What is wrong with what was filled in, by field. */
export function mistakes<V extends Doer>(act: Act<V>, form: Form): Record<string, string> {
  const found: Record<string, string> = {};
  for (const field of act.fields) {
    const value = (form[field.name] ?? '').trim();
    if (!value) {
      if (field.needed) found[field.name] = 'this is needed';
    } else if (field.kind === 'json') {
      try {
        JSON.parse(value);
      } catch (error) {
        found[field.name] = error instanceof Error ? error.message : 'this is no JSON';
      }
    }
  }
  return found;
}
