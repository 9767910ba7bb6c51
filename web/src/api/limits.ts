/** What executions share: how much there is, who is in, who waits. */
import { client, taken } from './client';
import type { Schemas } from './shapes';

export type LimitList = Schemas['LimitList'];
export type LimitedResource = Schemas['LimitedResource'];
export type LineItem = Schemas['LineItem'];
export type WholeLine = Schemas['WholeLine'];
export type PlaceInLine = Schemas['PlaceInLine'];

export const limits = (): Promise<LimitList> => taken(client.GET('/api/v1/limits'));

export function line(limit: string, key: string): Promise<WholeLine> {
  return taken(client.GET('/api/v1/limits/line', { params: { query: { limit, key } } }));
}
