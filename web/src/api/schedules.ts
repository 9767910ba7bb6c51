/** Schedules: what starts by the clock. */
import { client, shaped } from './client';
import type { Json, Page } from './shapes';

export interface Due {
  nominal: string;
  note?: string;
}
export interface Schedule {
  name: string;
  playbook: string;
  cron: string | null;
  every_s: number | null;
  at: string | null;
  timezone: string;
  words: string;
  overlap: string;
  catch_up_s: number;
  jitter_s: number;
  workload: Json;
  paused: boolean;
  next: Due[];
  due: string | null;
  running: string[];
  queued: string[];
  started: number;
  passed: Record<string, number>;
  trouble: string | null;
  execution: string;
  last: { execution: string; status: string; nominal: string }[];
}

export async function schedules(): Promise<Schedule[]> {
  return (await shaped<Page<Schedule>>(client.GET('/api/v1/schedules'))).items;
}

export async function preview(name: string, n: number, from: string): Promise<Due[]> {
  const body = { name, n, from: from.trim(), text: '' };
  const found = await shaped<{ next: Due[] }>(client.POST('/api/v1/schedules/preview', { body }));
  return found.next;
}
