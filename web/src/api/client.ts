/** How the page speaks with the server: one client, with the session's cookie and what its acts must send along. */
import createClient, { type Middleware } from 'openapi-fetch';
import { connection } from './connection';
import { answered, away, GATEWAY, Problem } from './problems';
import type { paths } from './schema';

/** Where the server put us: `/`, or what stands before all its addresses. */
export function basePath(): string {
  const href = typeof document === 'undefined' ? '/' : new URL(document.baseURI).pathname;
  return href.replace(/\/$/, '');
}

export const API = '/api/v1';
let csrf = '';

export function rememberCsrf(given: string | null): void {
  csrf = given ?? '';
}

/** Tell the status line what became of a call, whoever made it. */
function heard(response: Response): void {
  const isProblem = response.headers.get('content-type')?.includes('problem+json');
  if (GATEWAY.has(response.status) && !isProblem) connection.unanswered();
  else connection.answered(Date.now());
}

function unheard(error: unknown): Problem {
  connection.unanswered();
  return away(error);
}

const carried: Middleware = {
  onRequest({ request }) {
    if (csrf && request.method !== 'GET') request.headers.set('X-CSRF-Token', csrf);
    return request;
  },
  onResponse({ response }) {
    heard(response);
  },
  onError({ error }) {
    return unheard(error);
  },
};

export const client = createClient<paths>({ baseUrl: basePath(), credentials: 'same-origin' });
client.use(carried);

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** Take what a call gave, or throw the problem that it told of. */
export async function taken<T>(call: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await call;
  if (error !== undefined || !response.ok)
    throw error instanceof Problem ? error : answered(response.status, error);
  return data as T;
}

/** The same for an answer that the description calls no more than an object; its shape stands in `shapes`. */
export async function shaped<T>(call: Promise<Answer<unknown>>): Promise<T> {
  return (await taken(call)) as T;
}

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
}

/** What a change names: the tag of what it takes the place of, or that nothing is there yet. */
export function inPlaceOf(tag: string | null): Record<string, string> {
  return tag === null ? { 'If-None-Match': '*' } : { 'If-Match': tag };
}

/** Carry out a call that was put together as data: what the acts are made of. */
export async function carryOut<T>(call: Call): Promise<T> {
  const headers: Record<string, string> = { Accept: 'application/json', ...call.headers };
  if (call.body !== undefined) headers['Content-Type'] = 'application/json';
  if (csrf && call.method !== 'GET') headers['X-CSRF-Token'] = csrf;
  let response: Response;
  try {
    response = await fetch(`${basePath()}${call.path}`, {
      method: call.method,
      headers,
      body: call.body === undefined ? undefined : JSON.stringify(call.body),
      credentials: 'same-origin',
    });
  } catch (error) {
    throw unheard(error);
  }
  heard(response);
  const text = await response.text();
  const body: unknown =
    text && response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text;
  if (!response.ok) throw answered(response.status, body);
  return body as T;
}

/** A key under which the server does a thing once, however often it is asked. */
export function onceKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
