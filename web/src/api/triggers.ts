/** Triggers: which events start playbooks, and the events that could start nothing. */
import { client, taken } from './client';
import type { Schemas } from './shapes';

export type TriggerItem = Schemas['TriggerItem'];
export type DeadLetter = Schemas['DeadLetter'];

export const triggers = async () => (await taken(client.GET('/api/v1/triggers'))).items;

export function deadLetters(name: string, cursor: string | null) {
  const params = { path: { name }, query: { limit: 100, ...(cursor ? { cursor } : {}) } };
  return taken(client.GET('/api/v1/triggers/{name}/dead', { params }));
}
