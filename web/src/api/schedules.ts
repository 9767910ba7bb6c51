/** Schedules: what starts by the clock. */
import { client, taken } from './client';
import { problemOf } from './problems';
import type { Json, Schemas } from './shapes';

export type Due = Schemas['NominalTime'];
export type Schedule = Schemas['ScheduleItem'];
export type TimesAhead = Schemas['TimesAhead'];

/** A schedule as it is kept: the text of its author, what a change to it must name, and whether it is paused now. */
export interface Base {
  document: { [key: string]: Json };
  digest: string;
  paused: boolean;
}

export async function schedules(): Promise<Schedule[]> {
  return (await taken(client.GET('/api/v1/schedules'))).items;
}

export async function schedule(name: string): Promise<Base> {
  const found = await taken(client.GET('/api/v1/schedules/{name}', { params: { path: { name } } }));
  return { document: found.document as Base['document'], digest: found.digest, paused: found.paused };
}

/** The same; null where nobody keeps one of that name. */
export async function scheduleIfAny(name: string): Promise<Base | null> {
  try {
    return await schedule(name);
  } catch (error) {
    if (problemOf(error).code === 'not-found') return null;
    throw error;
  }
}

/** When a schedule is due: one that is kept, by its name, or one that is not yet, by its text. */
export function preview(which: { name: string } | { text: string }, n: number, from: string) {
  const body = { name: '', text: '', ...which, n, from: from.trim() };
  return taken(client.POST('/api/v1/schedules/preview', { body }));
}
