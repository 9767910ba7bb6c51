/** What can be done to many executions at once. */
import { Ban, type LucideIcon, Pause, Play, RotateCcw } from 'lucide-react';
import { API } from '../api/client';
import type { Act, Doer, Field, Power } from './act';
import { operated } from './trying';

export type Which = { ids: readonly string[] } | { filter: Record<string, string | string[]> };

export interface BulkView extends Doer {
  which: Which;
}

export type BulkAct = Act<BulkView>;

const reason = (needed: boolean): Field<BulkView> => ({
  name: 'reason',
  label: 'Reason',
  kind: 'text',
  needed,
  start: () => '',
});

const OPTION: Record<string, string> = {
  status: '--status',
  playbook: '--playbook',
  since: '--since',
  until: '--until',
  q: '--text',
};

/** Which executions, as the command line says it. */
export function whichCli(which: Which): string[] {
  if ('ids' in which) return [...which.ids];
  return Object.entries(which.filter).flatMap(([name, value]) => {
    const values = Array.isArray(value) ? value : [value];
    if (name === 'label') return values.flatMap((one) => ['--label', one.replace(':', '=')]);
    const option = OPTION[name];
    return option ? values.flatMap((one) => [option, one]) : [];
  });
}

interface Plain {
  id: 'cancel' | 'pause' | 'resume' | 'rerun';
  label: string;
  icon: LucideIcon;
  keys: string;
  permission: Power;
  says: string;
  fields?: readonly Field<BulkView>[];
  danger?: boolean;
}

function plain(act: Plain): BulkAct {
  return {
    id: act.id,
    label: act.label,
    icon: act.icon,
    keys: act.keys,
    on: 'executions',
    permission: act.permission,
    danger: act.danger ?? false,
    makes: false,
    tried: operated,
    when: ({ which }) => ('ids' in which && !which.ids.length ? 'select some first' : null),
    says: () => act.says,
    fields: [...(act.fields ?? []), reason(act.danger ?? false)],
    call: (view, form) => ({
      method: 'POST',
      path: `${API}/operations`,
      body: {
        act: act.id,
        reason: form.reason ?? '',
        ...(form.from ? { from: form.from } : {}),
        ...view.which,
      },
    }),
    cli: (view, form) => [
      'bulk',
      act.id,
      ...whichCli(view.which),
      ...(form.from ? ['--from', form.from] : []),
      ...(form.reason ? ['--reason', form.reason] : []),
      '--yes',
    ],
  };
}

export const BULK_ACTS: readonly BulkAct[] = [
  plain({
    id: 'pause',
    label: 'Pause',
    icon: Pause,
    keys: 'Shift+P',
    permission: 'steer',
    says: 'What runs goes on to its end; nothing new begins until they are resumed.',
  }),
  plain({
    id: 'resume',
    label: 'Resume',
    icon: Play,
    keys: 'Shift+R',
    permission: 'steer',
    says: 'Those that are paused go on where they were.',
  }),
  plain({
    id: 'rerun',
    label: 'Run again',
    icon: RotateCcw,
    keys: 'Shift+A',
    permission: 'start',
    says: 'Each becomes a new execution that begins at the step; the old ones stay as they are.',
    fields: [{ name: 'from', label: 'From which step', kind: 'text', needed: true, start: () => '' }],
  }),
  plain({
    id: 'cancel',
    label: 'Cancel',
    icon: Ban,
    keys: 'Shift+C',
    permission: 'steer',
    danger: true,
    says: 'Everything they do is stopped; they end aborted. What was done is not undone.',
  }),
];
