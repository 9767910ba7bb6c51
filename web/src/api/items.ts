/** Work items: what people are asked to do. */
import { client, shaped } from './client';
import type { Json, Page, Schemas } from './shapes';

export interface ItemSpec {
  title?: string;
  description?: string;
  actions?: string[];
  form?: Record<string, Json>;
  proposal?: Json;
}
export interface ItemBody {
  spec: ItemSpec;
  draft: Json;
  comments: Json[];
  decision: Json;
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

export function workItems(box: Box, cursor: string | null): Promise<Page<WorkItem>> {
  const more = cursor ? { cursor } : {};
  return shaped(client.GET('/api/v1/work-items', { params: { query: { box, limit: 100, ...more } } }));
}

export function workItem(execution: string, item: string): Promise<WorkItem> {
  return shaped(
    client.GET('/api/v1/work-items/{execution}/{item}', { params: { path: { execution, item } } }),
  );
}

export function workItemCounts(): Promise<Record<string, number>> {
  return shaped(client.GET('/api/v1/work-items/counts'));
}
