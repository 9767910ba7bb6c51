/** Writing playbooks: check a text, complete a word, apply it. */
import { API, basePath, carryOut, client, shaped, taken } from './client';
import { answered, away } from './problems';
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
  let response: Response;
  try {
    response = await fetch(
      `${basePath()}${API}/playbooks/${path.split('/').map(encodeURIComponent).join('/')}`,
    );
  } catch (error) {
    throw away(error);
  }
  const body: unknown = await response.json().catch(() => '');
  if (!response.ok) throw answered(response.status, body);
  return { text: (body as { text: string }).text, tag: response.headers.get('etag') ?? '' };
}

export function applyCall(path: string, text: string, tag: string) {
  return {
    method: 'PUT' as const,
    path: `${API}/playbooks/${path.split('/').map(encodeURIComponent).join('/')}`,
    body: { text },
    ...(tag ? { headers: { 'If-Match': tag } } : {}),
  };
}

export function apply(path: string, text: string, tag: string): Promise<{ digest: string }> {
  return carryOut(applyCall(path, text, tag));
}
