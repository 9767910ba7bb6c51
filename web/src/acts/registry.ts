/**
 * Everything that can be done to an execution, each with its call, its command line, who may, and when.
 * Buttons, menus, the palette, the help and "copy as" are drawn from this list, so no act can lack one of them.
 */
import {
  Ban,
  ClipboardCheck,
  GitFork,
  Hand,
  Pause,
  Pencil,
  Play,
  Radio,
  RotateCcw,
  RotateCw,
} from 'lucide-react';
import { API, type Call } from '../api/client';
import type { Json } from '../api/shapes';
import { OVER } from '../kit/states';
import type { Act, ActView, Field, Form } from './act';
import { FURTHER } from './further';
import { dryRun } from './trying';

const reason = (needed = false): Field => ({
  name: 'reason',
  label: 'Reason',
  kind: 'text',
  needed,
  start: () => '',
});

const text = (name: string, label: string, start: (view: ActView) => string = () => ''): Field => ({
  name,
  label,
  kind: 'text',
  needed: true,
  start,
});

const json = (name: string, label: string, start = '', needed = true): Field => ({
  name,
  label,
  kind: 'json',
  needed,
  start: () => start,
});

function at(view: ActView, rest: string): string {
  return `${API}/executions/${encodeURIComponent(view.id)}/${rest}`;
}

const seg = encodeURIComponent;

function given(value: string | undefined): Json {
  return value?.trim() ? (JSON.parse(value) as Json) : null;
}

function why(form: Form): { reason: string } {
  return { reason: form.reason ?? '' };
}

function option(name: string, value: string | undefined): string[] {
  return value ? [name, value] : [];
}

const post = (path: string, body?: unknown): Call => ({ method: 'POST', path, body });

function live(view: ActView): string | null {
  if (!view.live) return 'this is the past; go back to live first';
  return OVER.has(view.status) ? `it is over: ${view.status}` : null;
}

function onStep(view: ActView): string | null {
  return live(view) ?? (view.step ? null : 'select a step first');
}

function patchCli(form: Form): string[] {
  const values = given(form.values);
  if (values === null || typeof values !== 'object' || Array.isArray(values)) return [];
  return Object.entries(values).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
}

export const ACTS: readonly Act[] = [
  {
    id: 'pause',
    label: 'Pause',
    icon: Pause,
    keys: 'Shift+P',
    on: 'execution',
    permission: 'steer',
    danger: false,
    makes: false,
    tried: dryRun,
    when: (view) => live(view) ?? (view.status === 'paused' ? 'it is paused already' : null),
    says: () => 'What runs goes on to its end; nothing new begins until it is resumed.',
    fields: [reason()],
    call: (view, form) => post(at(view, 'pause'), why(form)),
    cli: (view) => ['pause', view.id],
  },
  {
    id: 'resume',
    label: 'Resume',
    icon: Play,
    keys: 'Shift+R',
    on: 'execution',
    permission: 'steer',
    danger: false,
    makes: false,
    tried: dryRun,
    when: (view) => live(view) ?? (view.status === 'paused' ? null : 'it is not paused'),
    says: () => 'It goes on where it was.',
    fields: [],
    call: (view) => post(at(view, 'resume')),
    cli: (view) => ['resume', view.id],
  },
  {
    id: 'cancel',
    label: 'Cancel',
    icon: Ban,
    keys: 'Shift+C',
    on: 'execution',
    permission: 'steer',
    danger: true,
    makes: false,
    tried: dryRun,
    when: live,
    says: () => 'Everything that it does is stopped; it ends aborted. What was done is not undone.',
    fields: [reason(true)],
    call: (view, form) => post(at(view, 'cancel'), why(form)),
    cli: (view, form) => ['cancel', view.id, ...option('--reason', form.reason)],
  },
  {
    id: 'signal',
    label: 'Send a signal',
    icon: Radio,
    keys: 'Shift+S',
    on: 'execution',
    permission: 'steer',
    danger: false,
    makes: false,
    tried: dryRun,
    when: live,
    says: () => 'Whoever waits for it goes on; one that nobody waits for is kept.',
    fields: [text('name', 'Name'), json('payload', 'Payload (JSON)', '', false)],
    call: (view, form) => post(at(view, `signals/${seg(form.name ?? '')}`), { payload: given(form.payload) }),
    cli: (view, form) => ['signal', view.id, form.name ?? '', ...option('--payload', form.payload)],
  },
  {
    id: 'patch',
    label: 'Change ctx',
    icon: Pencil,
    keys: 'Shift+X',
    on: 'execution',
    permission: 'steer',
    danger: false,
    makes: false,
    tried: dryRun,
    when: live,
    says: (view) => `These keys of ctx get new values, if nothing has happened since record ${view.version}.`,
    fields: [json('values', 'Values (JSON object)', '{}'), reason()],
    call: (view, form) => ({
      method: 'PATCH',
      path: at(view, 'ctx'),
      body: { values: given(form.values), ...why(form) },
      headers: { 'If-Match': `"${view.version}"` },
    }),
    cli: (view, form) => ['patch', view.id, ...patchCli(form), ...option('--reason', form.reason)],
  },
  {
    id: 'rerun',
    label: 'Run again from here',
    icon: RotateCcw,
    keys: 'r',
    on: 'step',
    permission: 'start',
    danger: false,
    makes: true,
    tried: dryRun,
    when: (view) => (view.step ? null : 'select a step first'),
    says: (view) =>
      `A new execution begins with everything that happened before '${view.step ?? ''}' last began. This one stays as it is.`,
    fields: [reason()],
    call: (view, form) => post(at(view, 'rerun'), { from: view.step ?? '', ...why(form) }),
    cli: (view, form) => ['rerun', view.id, '--from', view.step ?? '', ...option('--reason', form.reason)],
  },
  {
    id: 'fork',
    label: 'Fork at this record',
    icon: GitFork,
    keys: 'Shift+F',
    on: 'record',
    permission: 'start',
    danger: false,
    makes: true,
    tried: dryRun,
    when: (view) => (view.seq >= 1 ? null : 'there is no record yet'),
    says: (view) => `A new execution begins with records 1 to ${view.seq} of this one, which stays as it is.`,
    fields: [reason()],
    call: (view, form) => post(at(view, 'fork'), { at: view.seq, ...why(form) }),
    cli: (view, form) => ['fork', view.id, '--at', String(view.seq), ...option('--reason', form.reason)],
  },
  {
    id: 'override',
    label: 'Decide its outcome',
    icon: Hand,
    keys: 'o',
    on: 'step',
    permission: 'steer',
    danger: true,
    makes: false,
    tried: dryRun,
    when: (view) => onStep(view) ?? (view.stepActive ? null : 'it neither runs nor waits'),
    says: (view) =>
      `'${view.step ?? ''}' ends as you say, whatever it does. The log says that you decided it.`,
    fields: [
      {
        name: 'outcome',
        label: 'Outcome',
        kind: 'choice',
        needed: true,
        options: [
          { value: 'ok', label: 'it succeeded' },
          { value: 'error', label: 'it failed' },
        ],
        start: () => 'ok',
      },
      json('result', 'Result (JSON), or the message of its error', 'null', false),
      reason(true),
    ],
    call: (view, form) =>
      post(at(view, `steps/${seg(view.step ?? '')}/override`), {
        ...(form.outcome === 'error'
          ? { error: { kind: 'override', message: String(given(form.result) ?? '') } }
          : { ok: given(form.result) }),
        ...why(form),
      }),
    cli: (view, form) => [
      'override',
      view.id,
      view.step ?? '',
      ...(form.outcome === 'error'
        ? ['--error', String(given(form.result) ?? '')]
        : ['--ok', form.result?.trim() ? form.result : 'null']),
      ...option('--reason', form.reason),
    ],
  },
  {
    id: 'retry',
    label: 'Try it once more',
    icon: RotateCw,
    keys: 'Shift+T',
    on: 'step',
    permission: 'steer',
    danger: false,
    makes: false,
    tried: dryRun,
    when: (view) => onStep(view) ?? (view.stepActive ? null : 'it is no incident'),
    says: (view) => `'${view.step ?? ''}' is handed out once more.`,
    fields: [reason()],
    call: (view, form) => post(at(view, `steps/${seg(view.step ?? '')}/retry`), why(form)),
    cli: (view, form) => ['retry', view.id, view.step ?? '', ...option('--reason', form.reason)],
  },
  {
    id: 'verify',
    label: 'Verify the log',
    icon: ClipboardCheck,
    keys: 'Shift+V',
    on: 'execution',
    permission: 'see',
    danger: false,
    makes: false,
    tried: null,
    when: () => null,
    says: () => 'Every record is held against the hash of the one before it.',
    fields: [],
    call: (view) => post(at(view, 'verify')),
    cli: (view) => ['verify', view.id],
  },
  ...FURTHER,
];

export function actOf(id: string): Act {
  const found = ACTS.find((act) => act.id === id);
  if (!found) throw new Error(`there is no act '${id}'`);
  return found;
}
