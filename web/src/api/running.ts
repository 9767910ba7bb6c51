/** Running it: workers, pools, the store, the audit, who may come in; and the playbooks that were applied. */
import { client, taken } from './client';
import type { Page, Schemas } from './shapes';

export type WorkerItem = Schemas['WorkerItem'];
export type PoolItem = Schemas['PoolItem'];
export type StoreStats = Schemas['StoreStats'];
export type AuditEntry = Schemas['AuditEntry'];
export type SecretItem = Schemas['SecretItem'];
export type TokenItem = Schemas['TokenItem'];
export type UserItem = Schemas['UserItem'];
export type PlaybookItem = Schemas['PlaybookItem'];
export type Heat = Schemas['Heat'];
export type Standing = Schemas['PlaybookStanding'];

const AUDIT_PAGE = 200;
const CHOICES = 500;

export const workers = async () => (await taken(client.GET('/api/v1/workers'))).items;
export const pools = async () => (await taken(client.GET('/api/v1/pools'))).items;
export const stats = () => taken(client.GET('/api/v1/stats'));
export const secrets = async () => (await taken(client.GET('/api/v1/secrets'))).items;
export const tokens = async () => (await taken(client.GET('/api/v1/tokens'))).items;
export const users = async () => (await taken(client.GET('/api/v1/users'))).items;

/** The audit from an entry on, the oldest first. */
export async function audit(cursor: string | null, actor: string): Promise<Page<AuditEntry>> {
  const query = { after: Number(cursor ?? 0), limit: AUDIT_PAGE, ...(actor ? { actor } : {}) };
  const { items } = await taken(client.GET('/api/v1/audit', { params: { query } }));
  return { items, next: items.length < AUDIT_PAGE ? null : String(items.at(-1)?.number) };
}

/** The audit, the latest first. */
export function auditBack(cursor: string | null, actor: string): Promise<Page<AuditEntry>> {
  const query = {
    limit: AUDIT_PAGE,
    ...(actor ? { actor } : {}),
    ...(cursor ? { cursor: Number(cursor) } : {}),
  };
  return taken(client.GET('/api/v1/audit', { params: { query } }));
}

export const auditVerified = () => taken(client.POST('/api/v1/audit/verify'));

export function playbooks(cursor: string | null) {
  const query = { limit: 100, ...(cursor ? { cursor } : {}) };
  return taken(client.GET('/api/v1/playbooks', { params: { query } }));
}

/** Those that a person chooses from. */
export const choices = () =>
  taken(client.GET('/api/v1/playbooks', { params: { query: { limit: CHOICES } } }));

export type Playbook = Awaited<ReturnType<typeof playbook>>;

export function playbook(path: string) {
  return taken(client.GET('/api/v1/playbooks/{path}', { params: { path: { path } } }));
}

export async function versions(path: string): Promise<PlaybookItem[]> {
  const params = { path: { path }, query: { limit: 100 } };
  return (await taken(client.GET('/api/v1/playbooks/{path}/versions', { params }))).items;
}

export function heat(path: string): Promise<Heat> {
  const params = { path: { path }, query: { last: 100 } };
  return taken(client.GET('/api/v1/playbooks/{path}/heat', { params }));
}

/** How it stands: whether its net is sound, what is open, what came of the last ones. No log is read for that. */
export function standing(path: string): Promise<Standing> {
  return taken(client.GET('/api/v1/playbooks/{path}/standing', { params: { path: { path } } }));
}
