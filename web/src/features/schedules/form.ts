/**
 * A schedule as a form: what is typed, and the document that it makes. Each key of that is a line of its own, so that a
 * problem of the server, which names a line, is told at its field.
 */
import { type Problem, problemOf } from '../../api/problems';
import type { Base } from '../../api/schedules';
import type { Json } from '../../api/shapes';

export const RHYTHMS = ['cron', 'every_s', 'at'] as const;
export type Rhythm = (typeof RHYTHMS)[number];
export type Document = Base['document'];

export interface ScheduleForm {
  name: string;
  playbook: string;
  /** Which version of it; empty for the current one. */
  version: string;
  rhythm: Rhythm;
  cron: string;
  every_s: string;
  /** A date per line. */
  at: string;
  timezone: string;
  overlap: string;
  catch_up_s: string;
  jitter_s: string;
  workload: string;
  paused: boolean;
}

export type Wrong = Partial<Record<keyof ScheduleForm, string>>;

const ABSENT = {
  version: '',
  timezone: 'UTC',
  overlap: 'skip',
  catch_up_s: '86400',
  jitter_s: '0',
  workload: '{}',
  paused: false,
} as const;

/** What a new schedule begins with: something that is due, by the clocks of whoever writes it. */
export function fresh(zone: string): ScheduleForm {
  return {
    ...ABSENT,
    name: '',
    playbook: '',
    rhythm: 'cron',
    cron: '0 6 * * *',
    every_s: '3600',
    at: '',
    timezone: zone,
  };
}

const said = (value: Json | undefined, absent: string) =>
  value === undefined || value === null ? absent : String(value);

export function formOf(document: Document): ScheduleForm {
  const { metadata, at, workload } = document as { metadata?: { name?: string } } & Document;
  const dates = Array.isArray(at) ? at : at === undefined ? [] : [at];
  return {
    name: metadata?.name ?? '',
    playbook: said(document.playbook, ''),
    version: said(document.version, ABSENT.version),
    rhythm: RHYTHMS.find((one) => document[one] !== undefined) ?? 'cron',
    cron: said(document.cron, ''),
    every_s: said(document.every_s, ''),
    at: dates.join('\n'),
    timezone: said(document.timezone, ABSENT.timezone),
    overlap: said(document.overlap, ABSENT.overlap),
    catch_up_s: said(document.catch_up_s, ABSENT.catch_up_s),
    jitter_s: said(document.jitter_s, ABSENT.jitter_s),
    workload: workload === undefined ? ABSENT.workload : JSON.stringify(workload, null, 2),
    paused: document.paused === true,
  };
}

// The document

const NUMBER = /^\d+(\.\d+)?$/;

/** A number where it is one; what is none the server refuses, at its line. */
function numbered(text: string): Json {
  return NUMBER.test(text.trim()) ? Number(text) : text.trim();
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

function dated(text: string): Json {
  const dates = text
    .split('\n')
    .map((one) => one.trim())
    .filter(Boolean);
  return dates.length > 1 ? dates : (dates[0] ?? '');
}

const VALUE: Record<Rhythm, (form: ScheduleForm) => Json> = {
  cron: (form) => form.cron.trim(),
  every_s: (form) => numbered(form.every_s),
  at: (form) => dated(form.at),
};

/** The document of a form; what the form does not show stays as it was in the one before. */
export function documentOf(form: ScheduleForm, before: Document = {}): Document {
  const given = (name: keyof typeof ABSENT, value: Json): Document => {
    const text = String(form[name]).trim();
    return text === '' || text === String(ABSENT[name]) ? {} : { [name]: value };
  };
  const version = form.version.trim(); // a number stays one where it is not touched: 1.10 is no 1.1
  const metadata = { ...(before.metadata as Document | undefined), name: form.name.trim() };
  return {
    apiVersion: 'petra/v1',
    kind: 'Schedule',
    metadata,
    playbook: form.playbook.trim(),
    ...given('version', version === String(before.version) ? (before.version as Json) : version),
    ...given('workload', parsed(form.workload)),
    [form.rhythm]: VALUE[form.rhythm](form),
    ...given('timezone', form.timezone.trim()),
    ...given('overlap', form.overlap),
    ...given('catch_up_s', numbered(form.catch_up_s)),
    ...given('jitter_s', numbered(form.jitter_s)),
    ...given('paused', form.paused),
  };
}

const PLAIN = /^[a-z_][\w./-]*$/i;
const OTHERWISE = /^(true|false|null|yes|no|on|off|y|n)$/i;

/** A value in one line of YAML. */
export function inYaml(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(inYaml).join(', ')}]`;
  if (value !== null && typeof value === 'object') {
    const pairs = Object.entries(value).map(([key, one]) => `${inYaml(key)}: ${inYaml(one)}`);
    return `{${pairs.join(', ')}}`;
  }
  if (typeof value === 'string' && PLAIN.test(value) && !OTHERWISE.test(value)) return value;
  return JSON.stringify(value);
}

export function textOf(document: Document): string {
  return Object.entries(document)
    .map(([key, value]) => `${key}: ${inYaml(value)}\n`)
    .join('');
}

/** A text that is due when the form says, whatever else is not filled in yet. */
export function timesOf(form: ScheduleForm): string {
  return textOf(documentOf({ ...form, name: 'times', playbook: 'times', version: '', workload: '{}' }));
}

// What is wrong

/** What can be seen to be wrong without asking anybody. */
export function mistakes(form: ScheduleForm): Wrong {
  const found: Wrong = {};
  for (const name of ['name', 'playbook', form.rhythm] as const)
    if (!form[name].trim()) found[name] = 'this is needed';
  const workload = form.workload.trim() ? parsed(form.workload) : {};
  if (workload === null || typeof workload !== 'object' || Array.isArray(workload))
    found.workload = 'this is no JSON object';
  return found;
}

export interface Refusal {
  fields: Wrong;
  /** What is about no field. */
  rest: Problem | null;
}

/** What the server refused of a text, at the fields that its lines are about. */
export function refusalOf(error: unknown, text: string): Refusal {
  const problem = problemOf(error);
  const places = (problem.body.errors ?? []).filter((one) => one.severity === 'error');
  const keys = text.split('\n').map((line) => line.slice(0, line.indexOf(':')));
  const fields: Wrong = {};
  for (const one of places) {
    const key = keys[(one.line ?? 0) - 1] ?? '';
    const name = (key === 'metadata' ? 'name' : key) as keyof ScheduleForm;
    if (!(name in fresh(''))) return { fields, rest: problem };
    fields[name] ??= [one.message, one.hint].filter(Boolean).join('; ');
  }
  return { fields, rest: places.length ? null : problem };
}
