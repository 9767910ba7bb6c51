/** Acts on executions that few need often: another version, live groups, the log as a file. */
import { Download, GitBranchPlus, Group } from 'lucide-react';
import { API, type Call } from '../api/client';
import type { Json } from '../api/shapes';
import type { Act, ActView, Field, Form } from './act';
import { dryRun } from './trying';

const seg = encodeURIComponent;
const at = (view: ActView, rest: string) => `${API}/executions/${seg(view.id)}/${rest}`;
const option = (name: string, value: string | undefined) => (value ? [name, value] : []);

const field = (name: string, label: string, needed = false, kind: Field['kind'] = 'text'): Field => ({
  name,
  label,
  kind,
  needed,
  start: () => '',
});

function over(view: ActView): string | null {
  return view.live ? null : 'this is the past; go back to live first';
}

function json(text: string | undefined): Json {
  return text?.trim() ? (JSON.parse(text) as Json) : null;
}

function names(text: string | undefined): Record<string, string> {
  return (json(text) ?? {}) as Record<string, string>;
}

const MIGRATE: Act = {
  id: 'migrate',
  label: 'Go on with another version',
  icon: GitBranchPlus,
  keys: 'Shift+M',
  on: 'execution',
  permission: 'steer',
  danger: true,
  makes: false,
  tried: dryRun,
  when: over,
  says: () => 'It goes on with another text from where it is; what runs ends as it began.',
  fields: [
    { ...field('playbook', 'Path of the playbook', true), start: (view) => view.playbook ?? '' },
    field('version', 'Version; the one that is applied now where it is empty'),
    field('renamed', 'Steps that are called otherwise now (JSON object, old to new)', false, 'json'),
    field('reason', 'Reason', true),
  ],
  call: (view, form) => ({
    method: 'POST',
    path: at(view, 'migrate'),
    body: {
      playbook: form.playbook ?? '',
      version: form.version || null,
      renamed: names(form.renamed),
      reason: form.reason ?? '',
    },
  }),
  cli: (view, form) => [
    'migrate-execution',
    view.id,
    '--to',
    form.version || `${form.playbook ?? ''}.yaml`,
    ...Object.entries(names(form.renamed)).flatMap(([old, now]) => ['--map', `${old}=${now}`]),
    ...option('--reason', form.reason),
  ],
};

const CHANGES = [
  { value: 'add', label: 'add an item' },
  { value: 'close', label: 'let no more come' },
  { value: 'complete', label: 'count it as complete' },
  { value: 'cancel', label: 'cancel it' },
] as const;

const GROUP: Act = {
  id: 'group',
  label: 'Change a live group',
  icon: Group,
  keys: 'Shift+G',
  on: 'execution',
  permission: 'steer',
  danger: false,
  makes: false,
  tried: dryRun,
  when: over,
  says: () => 'A fan-out that is under way gets one branch more, or ends as you say.',
  fields: [
    { ...field('group', 'The step that spreads or joins it', true), start: (view) => view.step ?? '' },
    { ...field('change', 'Change', true, 'choice'), options: CHANGES, start: () => 'add' },
    field('item', 'The item that is added (JSON)', false, 'json'),
  ],
  call: (view, form) => ({
    method: 'POST',
    path: at(view, `groups/${seg(form.group ?? '')}`),
    body: { change: form.change ?? '', item: form.change === 'add' ? json(form.item) : null },
  }),
  cli: (view, form) => [
    'group',
    view.id,
    form.group ?? '',
    form.change ?? '',
    ...(form.change === 'add' ? ['--item', form.item?.trim() || 'null'] : []),
  ],
};

const FORMATS = [
  { value: 'json', label: 'JSON: every record' },
  { value: 'csv', label: 'CSV: a row per step run' },
  { value: 'xes', label: 'XES: for process mining' },
  { value: 'ocel', label: 'OCEL 2.0' },
] as const;
const PROFILES = [
  { value: 'activities', label: 'the life of each activity' },
  { value: 'firings', label: 'the firings of the net' },
] as const;

function exported(view: ActView, form: Form): Call {
  const query = new URLSearchParams({ format: form.format ?? 'json' });
  if (form.format === 'xes') query.set('profile', form.profile ?? 'activities');
  return { method: 'GET', path: `${at(view, 'export')}?${query}` };
}

const EXPORT: Act = {
  id: 'export',
  label: 'Export the log',
  icon: Download,
  keys: 'Shift+E',
  on: 'execution',
  permission: 'see',
  danger: false,
  makes: false,
  tried: null,
  saves: (view, form) => `${view.id}.${form.format ?? 'json'}`,
  when: () => null,
  says: () => 'The log is saved as a file, for other programs.',
  fields: [
    { ...field('format', 'Format', true, 'choice'), options: FORMATS, start: () => 'json' },
    {
      ...field('profile', 'XES: what is told', true, 'choice'),
      options: PROFILES,
      start: () => 'activities',
    },
  ],
  call: exported,
  cli: (view, form) => [
    'export',
    view.id,
    '--format',
    form.format ?? 'json',
    ...(form.format === 'xes' ? ['--profile', form.profile ?? 'activities'] : []),
    '--output',
    `${view.id}.${form.format ?? 'json'}`,
  ],
};

export const FURTHER: readonly Act[] = [GROUP, MIGRATE, EXPORT];
