import type { LimitedResource, PlaceInLine } from '../api/limits';
import { number } from './format';

const QUOTA = 'quota executions';

/** Which limit it is, as somebody would say it. */
export function limitInWords(limit: string, key: string): string {
  if (limit === QUOTA) return 'quota of the namespace';
  const gap = limit.indexOf(' ');
  const [kind, name] = [limit.slice(0, gap), limit.slice(gap + 1)];
  const words = { playbook: `limit of ${name}`, resource: `resource ${name}` }[kind] ?? `limit ${name}`;
  return key ? `${words}, key ${key}` : words;
}

export function placeInWords(place: PlaceInLine): string {
  return `number ${number(place.position)} of ${number(place.waiting)} in line`;
}

/** So many in front of somebody are counted in a list. */
const COUNTED = 1000;

/** How far from their turn somebody is who waits for a limit. */
export function aheadInWords(ahead: number): string {
  return ahead < COUNTED ? `number ${number(ahead + 1)} in line` : `${number(COUNTED)} or more in front`;
}

export function usedInWords(used: number, most: number | null): string {
  return most === null ? `${number(used)} in use` : `${number(used)} of ${number(most)} in use`;
}

export function rateInWords(rate: LimitedResource['rate']): string {
  return rate ? `${number(rate.count)} in ${number(rate.per_s)} s` : '';
}

/** Where an execution stands that waits for its turn: as a whole, or else the first of its steps that does. */
export function placeOf(waiting: Iterable<{ queue?: PlaceInLine | null }>): PlaceInLine | null {
  for (const one of waiting) if (one.queue) return one.queue;
  return null;
}
