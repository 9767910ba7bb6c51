/** The calls that pages make, each with the shape of its answer. */
import { client, rememberCsrf, shaped, taken } from './client';
import { connection } from './connection';
import { asked, type ListQuery } from './lists';
import { enough, summed } from './pieces';
import type {
  Counts,
  Definition,
  Diff,
  EventCounts,
  EventItem,
  Execution,
  ExecutionItem,
  Explained,
  Frames,
  Graph,
  Hit,
  IterationMap,
  IterationRow,
  Json,
  Lineage,
  LogLine,
  Me,
  Meta,
  Moment,
  Operation,
  Page,
  RunDetail,
  RunRow,
  TokenThen,
  ValueRange,
  View,
  Write,
} from './shapes';

const MINUTE = 60_000;
/** So much of a large value is fetched at once: items of a list, keys, characters. */
const RANGE = 500;
/** So many tokens are listed at once, and so many lists are looked through for one of them. */
const TOKENS = 200;
const TOKEN_PAGES = 25;
/** So many writes to a variable are fetched at once, and so many times. */
const WRITES = 500;
const WRITE_PAGES = 10;

function rounded(now: number): number {
  return Math.floor(now / MINUTE) * MINUTE;
}

export async function me(): Promise<Me> {
  const found = await shaped<Me>(client.GET('/api/v1/me'));
  rememberCsrf(found.csrf);
  return found;
}

export async function meta(): Promise<Meta> {
  const found = await shaped<Meta>(client.GET('/api/v1/meta'));
  connection.version(found.version);
  return found;
}

export async function logIn(name: string, password: string): Promise<void> {
  await shaped(client.POST('/api/v1/session', { body: { name, password, code: '' } }));
}

export async function logOut(): Promise<void> {
  await shaped(client.DELETE('/api/v1/session'));
}

export function executions(query: ListQuery, cursor: string | null): Promise<Page<ExecutionItem>> {
  const given = { ...asked(query, rounded(Date.now())), sort: query.sort, limit: 100 };
  return enough(
    (at) => shaped(client.GET('/api/v1/executions', { params: { query: from(given, at) } })),
    cursor,
  );
}

export function counts(query: ListQuery, by: 'status' | 'hour' | 'playbook'): Promise<Counts> {
  const given = { ...asked(query, rounded(Date.now())), by };
  return summed((at) =>
    shaped(client.GET('/api/v1/executions/counts', { params: { query: from(given, at) } })),
  );
}

function from<T extends object>(query: T, cursor: string | null): T & { cursor?: string } {
  return { ...query, ...(cursor ? { cursor } : {}) };
}

/** How far an act on many has come. */
export function operation(id: string): Promise<Operation> {
  const params = { path: { operation: id } };
  return taken(client.GET('/api/v1/operations/{operation}', { params }));
}

const of = (execution: string) => ({ params: { path: { execution } } });

export function execution(id: string): Promise<Execution> {
  return taken(client.GET('/api/v1/executions/{execution}', of(id))) as Promise<Execution>;
}

export function frames(id: string, after: number, until?: number, bins?: number): Promise<Frames> {
  const params = { path: { execution: id }, query: { after, until, bins } };
  return taken(client.GET('/api/v1/executions/{execution}/frames', { params })) as Promise<Frames>;
}

export function graph(digest: string, lens: 'step' | 'net'): Promise<Graph> {
  const params = { path: { digest }, query: { lens } };
  return shaped(client.GET('/api/v1/definitions/{digest}/graph', { params }));
}

export function definition(digest: string): Promise<Definition> {
  return shaped(client.GET('/api/v1/definitions/{digest}', { params: { path: { digest } } }));
}

export function at(id: string, seq: number): Promise<Moment> {
  return shaped(
    client.GET('/api/v1/executions/{execution}/at/{seq}', { params: { path: { execution: id, seq } } }),
  );
}

/** The tokens that were in a place at a record, or in all of them. */
export function tokensAt(
  id: string,
  seq: number,
  place?: string,
  cursor: string | null = null,
): Promise<Page<TokenThen>> {
  const params = {
    path: { execution: id, seq },
    query: { place, limit: TOKENS, ...(cursor ? { cursor: Number(cursor) } : {}) },
  };
  return shaped(client.GET('/api/v1/executions/{execution}/at/{seq}/tokens', { params }));
}

/** One of them; null where it was not there. Of very many only the first are looked through. */
export async function tokenAt(id: string, seq: number, token: string): Promise<TokenThen | null> {
  let cursor: string | null = null;
  for (let page = 0; page < TOKEN_PAGES; page++) {
    const { items, next }: Page<TokenThen> = await tokensAt(id, seq, undefined, cursor);
    const found = items.find((one) => one.id === token);
    if (found || !next) return found ?? null;
    cursor = next;
  }
  return null;
}

export function explainAt(id: string, seq: number): Promise<Explained['explanation']> {
  const params = { path: { execution: id, seq } };
  return shaped(client.GET('/api/v1/executions/{execution}/at/{seq}/explain', { params }));
}

export function explain(id: string): Promise<Explained> {
  return shaped(client.GET('/api/v1/executions/{execution}/explain', of(id)));
}

export interface EventsAsked {
  after?: number;
  before?: number;
  step?: string;
  run?: number;
  type?: string;
  arc?: string;
  text?: string;
  level?: 'marked' | 'important' | 'all';
  limit?: number;
}

export function events(id: string, query: EventsAsked): Promise<Page<EventItem>> {
  const params = { path: { execution: id }, query };
  return shaped(client.GET('/api/v1/executions/{execution}/events', { params }));
}

export interface CountsAsked extends Pick<EventsAsked, 'after' | 'step' | 'run' | 'arc' | 'level'> {
  size: number;
  until: number;
}

export function eventCounts(id: string, query: CountsAsked): Promise<EventCounts> {
  const params = { path: { execution: id }, query };
  return shaped(client.GET('/api/v1/executions/{execution}/events/counts', { params }));
}

export function record(id: string, seq: number): Promise<Json> {
  const params = { path: { execution: id, seq } };
  return shaped(client.GET('/api/v1/executions/{execution}/events/{seq}', { params }));
}

/** The last runs of a step that had begun by a record. */
export function runs(id: string, step: string, by: number): Promise<Page<RunRow>> {
  const params = { path: { execution: id }, query: { step, before: by + 1, limit: 500 } };
  return shaped(client.GET('/api/v1/executions/{execution}/runs', { params }));
}

export function run(id: string, n: number): Promise<RunDetail> {
  const params = { path: { execution: id, n } };
  return shaped(client.GET('/api/v1/executions/{execution}/runs/{n}', { params }));
}

export function iterationMap(id: string, n: number): Promise<IterationMap> {
  const params = { path: { execution: id, n } };
  return shaped(client.GET('/api/v1/executions/{execution}/runs/{n}/iterations/map', { params }));
}

export function iterations(id: string, n: number, from: number, limit: number): Promise<Page<IterationRow>> {
  const params = { path: { execution: id, n }, query: { from, limit } };
  return shaped(client.GET('/api/v1/executions/{execution}/runs/{n}/iterations', { params }));
}

/** All that was written to a variable, oldest first; of very many writes the first, and where it goes on. */
export async function history(id: string, key: string): Promise<Page<Write>> {
  const items: Write[] = [];
  let next: string | null = '0';
  for (let page = 0; next !== null && page < WRITE_PAGES; page++) {
    const params = { path: { execution: id, key }, query: { limit: WRITES, cursor: Number(next) } };
    const found: Page<Write> = await shaped(
      client.GET('/api/v1/executions/{execution}/ctx/{key}/history', { params }),
    );
    items.push(...found.items);
    next = found.next;
  }
  return { items, next };
}

export function evaluated(
  id: string,
  seq: number,
  expression: string,
  where: { step?: string; run?: number },
): Promise<{ value: Json }> {
  const params = { path: { execution: id, seq } };
  return shaped(
    client.POST('/api/v1/executions/{execution}/at/{seq}/eval', {
      params,
      body: { expression, step: where.step ?? null, run: where.run ?? null },
    }),
  );
}

/** Part of a large value, by the key of its reference. */
export function rangeOf(id: string, key: string, pointer: string, offset: number): Promise<ValueRange> {
  const query = { path: pointer, offset, limit: RANGE };
  const path = { execution: id, ref: key };
  return shaped(client.GET('/api/v1/executions/{execution}/values/{ref}', { params: { path, query } }));
}

export function lineage(id: string): Promise<Lineage> {
  return shaped(client.GET('/api/v1/executions/{execution}/lineage', of(id)));
}

export function diff(id: string, other: string): Promise<Diff> {
  const params = { path: { execution: id, other } };
  return shaped(client.GET('/api/v1/executions/{execution}/diff/{other}', { params }));
}

/** What the steps printed: a JSON document per line. */
export async function logs(id: string): Promise<LogLine[]> {
  const text = await shaped<string>(
    client.GET('/api/v1/executions/{execution}/logs', { ...of(id), parseAs: 'text' }),
  );
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as LogLine);
}

export async function search(q: string): Promise<Hit[]> {
  const found = await shaped<Page<Hit>>(client.GET('/api/v1/search', { params: { query: { q } } }));
  return found.items;
}

export async function views(): Promise<View[]> {
  return (await shaped<Page<View>>(client.GET('/api/v1/views'))).items;
}

export function keepView(name: string, query: string, page: string, shared: boolean): Promise<View> {
  const params = { path: { name } };
  return shaped(client.PUT('/api/v1/views/{name}', { params, body: { query, page, shared } }));
}

export async function dropView(name: string): Promise<void> {
  await shaped(client.DELETE('/api/v1/views/{name}', { params: { path: { name } } }));
}
