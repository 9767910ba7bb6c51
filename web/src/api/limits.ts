/** What executions share: how much there is, who is in, who waits. */
import { client, taken } from './client';
import type { Schemas } from './shapes';

export type LimitList = Schemas['LimitList'];
export type LimitedResource = Schemas['LimitedResource'];
export type LineItem = Schemas['LineItem'];
export type WholeLine = Schemas['WholeLine'];
export type PlaceInLine = Schemas['PlaceInLine'];

export const limits = (): Promise<LimitList> => taken(client.GET('/api/v1/limits'));

/** So many are told their places at once. */
export const PLACES_MAX = 100;

/** How many stand in front of executions that wait for a limit, by their ids. */
export async function places(ids: readonly string[]): Promise<Map<string, number>> {
  const query = { of: [...ids] };
  const { items } = await taken(client.GET('/api/v1/limits/places', { params: { query } }));
  return new Map(items.map((one) => [one.execution, one.ahead]));
}

export function line(limit: string, key: string): Promise<WholeLine> {
  return taken(client.GET('/api/v1/limits/line', { params: { query: { limit, key } } }));
}
