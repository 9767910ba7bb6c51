/** Work items: what people are asked to do. */
import { events } from './calls';
import { client, shaped, taken } from './client';
import type { EventItem, Json, Page, Schemas } from './shapes';

export interface ItemSpec {
  title?: string;
  description?: string;
  actions?: string[];
  form?: Record<string, Json>;
  proposal?: Json;
}
export interface Decision {
  action: string;
  actor: string;
  data?: Json;
}
export interface ItemBody {
  /** Of what asks; not said of what was asked by an earlier version. */
  playbook?: string;
  spec: ItemSpec;
  draft: Json;
  comments: Json[];
  decision: Decision | null;
}
export type WorkItem = Omit<Schemas['WorkItem'], 'body'> & { body: ItemBody };

export const BOXES = ['mine', 'open', 'done', 'all'] as const;
export type Box = (typeof BOXES)[number];

export const OPEN_STATES = new Set(['offered', 'allocated', 'started', 'suspended']);

export function isOpen(item: Pick<WorkItem, 'state'>): boolean {
  return OPEN_STATES.has(item.state);
}

/** What can be decided; where the playbook names nothing, these two. */
export function actionsOf(item: WorkItem): readonly string[] {
  const named = item.body.spec.actions ?? [];
  return named.length ? named : ['approve', 'reject'];
}

/** What the form begins with: the draft, else what was proposed. */
export function startData(item: WorkItem): Json {
  return item.body.draft ?? item.body.spec.proposal ?? {};
}

/** The fields in which what is filled in differs from what was proposed. */
export function changedFields(proposal: Json | undefined, data: Json): string[] {
  if (!isObject(proposal) || !isObject(data)) return [];
  const names = new Set([...Object.keys(proposal), ...Object.keys(data)]);
  return [...names].filter((name) => JSON.stringify(proposal[name]) !== JSON.stringify(data[name]));
}

function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export const DUES = ['overdue', 'today', 'week', 'none'] as const;
export type Due = (typeof DUES)[number];
export const SORTS = ['priority', 'due', 'age', 'newest'] as const;
export type Sort = (typeof SORTS)[number];

/** Which work items are looked for, whoever they are for. */
export interface ItemFilter {
  q: string;
  playbook: string;
  due: Due | '';
}
export const NO_FILTER: ItemFilter = { q: '', playbook: '', due: '' };

/** Until when something is due today: the server does not know where that ends here. */
function endOfToday(now: Date): string {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1).toISOString();
}

/** A filter as the server is asked; what is not narrowed is not said. */
export function asked({ q, playbook, due }: ItemFilter, now: Date): Record<string, string> {
  const until = due === 'today' ? endOfToday(now) : due;
  return Object.fromEntries(Object.entries({ q, playbook, due: until }).filter(([, value]) => value !== ''));
}

export interface ItemQuery extends ItemFilter {
  box: Box;
  sort: Sort;
}

export function workItems(query: ItemQuery, cursor: string | null): Promise<Page<WorkItem>> {
  const { box, sort } = query;
  const wanted = { box, sort, limit: 100, ...asked(query, new Date()), ...(cursor ? { cursor } : {}) };
  return shaped(client.GET('/api/v1/work-items', { params: { query: wanted } }));
}

export function workItem(execution: string, item: string): Promise<WorkItem> {
  return shaped(
    client.GET('/api/v1/work-items/{execution}/{item}', { params: { path: { execution, item } } }),
  );
}

/** How many there are by state: of all, or of those that somebody may act on. */
export function workItemCounts(
  whose: { user: string; role: string[] } | null = null,
  filter: ItemFilter = NO_FILTER,
): Promise<Record<string, number>> {
  const query = { ...whose, ...asked(filter, new Date()) };
  return shaped(client.GET('/api/v1/work-items/counts', { params: { query } }));
}

/** How many of those that were counted are open. */
export function openOf(counts: Record<string, number> | undefined): number {
  const open = Object.entries(counts ?? {}).filter(([state]) => OPEN_STATES.has(state));
  return open.reduce((sum, [, number]) => sum + number, 0);
}

const CHANGED = 'workitem.changed';
const CHANGES = 200;

/** What was done with a work item, oldest first, in the words of the log. */
export async function changes({ execution, id, step }: WorkItem): Promise<EventItem[]> {
  const { items } = await events(execution, { type: CHANGED, step, limit: CHANGES });
  return itsOwn(items, id);
}

/** Of the records of a step those that are about one item; their type is known. */
export function itsOwn(records: readonly EventItem[], id: string): EventItem[] {
  const own = records.filter((one) => one.preview.includes(`"item":${JSON.stringify(id)}`));
  return own.map((one) => ({ ...one, text: one.text.replace(CHANGED, '').trim() }));
}

const USERS = 20;

/** The names of those that have a part of a name in theirs. */
export async function usersNamed(q: string): Promise<string[]> {
  const { items } = await taken(client.GET('/api/v1/users', { params: { query: { q, limit: USERS } } }));
  return items.map((one) => one.name);
}
