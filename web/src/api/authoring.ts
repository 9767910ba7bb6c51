/** Writing playbooks: check a text, complete a word, apply it. */
import { API, carryOut, client, shaped, taken } from './client';
import type { Schemas } from './shapes';

export type Checked = Schemas['CheckedText'];
export type Finding = Schemas['PlacedProblem'];
export type Soundness = Schemas['Soundness'];
export type Word = Schemas['OfferedWord'];

export function check(text: string, signal: AbortSignal): Promise<Checked> {
  return shaped(client.POST('/api/v1/check', { body: { text }, signal }));
}

export async function complete(text: string, line: number, column: number): Promise<Word[]> {
  return (await taken(client.POST('/api/v1/complete', { body: { text, line, column } }))).items;
}

/** The text that is applied under a path, and what replaces it must name. */
export async function current(path: string): Promise<{ text: string; tag: string }> {
  const asked = client.GET('/api/v1/playbooks/{path}', { params: { path: { path } } });
  const [found, { response }] = await Promise.all([taken(asked), asked]);
  return { text: found.text, tag: response.headers.get('etag') ?? '' };
}

export function applyCall(path: string, text: string, tag: string) {
  return {
    method: 'PUT' as const,
    path: `${API}/playbooks/${encodeURIComponent(path)}`,
    body: { text },
    ...(tag ? { headers: { 'If-Match': tag } } : {}),
  };
}

export function apply(path: string, text: string, tag: string): Promise<{ digest: string }> {
  return carryOut(applyCall(path, text, tag));
}
