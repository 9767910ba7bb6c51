/** Writing playbooks: check a text, complete a word, apply it. */
import { client, shaped, taken } from './client';
import type { Json, Schemas } from './shapes';

export type Checked = Schemas['CheckedText'];
export type Finding = Schemas['PlacedProblem'];
export type Soundness = Schemas['Soundness'];
export type Word = Schemas['OfferedWord'];
export type Tested = Schemas['Tested'];
export type CaseDone = Schemas['CaseDone'];
export type Coverage = Schemas['ArcCoverage'];
export type WalkThrough = Schemas['WalkThrough'];
export type NextChoice = Schemas['NextChoice'];

/** A choice of a walk, as the server takes it. */
export interface Made {
  ok?: Json;
  error?: string;
  action?: string;
  data?: Json;
  payload?: Json;
  wait?: boolean;
}

export function check(text: string, signal: AbortSignal): Promise<Checked> {
  return shaped(client.POST('/api/v1/check', { body: { text }, signal }));
}

export async function complete(text: string, line: number, column: number): Promise<Word[]> {
  return (await taken(client.POST('/api/v1/complete', { body: { text, line, column } }))).items;
}

/** What stands at a place of a text. */
export function hover(text: string, line: number, column: number): Promise<Schemas['Hovered']> {
  return taken(client.POST('/api/v1/hover', { body: { text, line, column } }));
}

export type Repair = Schemas['TextEdit'];

/** Small changes that make the net of a text sound: those that were tried and help. */
export async function repairs(text: string): Promise<Repair[]> {
  return (await taken(client.POST('/api/v1/repairs', { body: { text, line: 1, column: 1 } }))).items;
}

/** The text that is applied under a path, and what replaces it must name. */
export async function current(path: string): Promise<{ text: string; tag: string }> {
  const asked = client.GET('/api/v1/playbooks/{path}', { params: { path: { path } } });
  const [found, { response }] = await Promise.all([taken(asked), asked]);
  return { text: unsigned(found.text), tag: response.headers.get('etag') ?? '' };
}

/** A text without the last line in which the server notes where its parts stood; it is of no use to people. */
export function unsigned(text: string): string {
  return text.replace(/\n# written in: [^\n]*\n?$/, '\n');
}

/** Run the cases of a test file against playbooks that come along, by the names it calls them. */
export function runTests(text: string, files: Record<string, string>): Promise<Tested> {
  return shaped(client.POST('/api/v1/tests', { body: { text, files, frames: true } }));
}

export const STEPS_AT_MOST = 2000;

/** Walk through a text by the choices made so far; by dice where there are none. */
export function walk(
  text: string,
  workload: Record<string, Json>,
  by: Made[] | number,
): Promise<WalkThrough> {
  const how = typeof by === 'number' ? { seed: by, choices: null } : { seed: 0, choices: by as object[] };
  const body = { text, workload, steps: STEPS_AT_MOST, ...how };
  return shaped(client.POST('/api/v1/simulate', { body: body as Schemas['Simulated'] }));
}
