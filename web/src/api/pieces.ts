/** Answers in pieces: what no index has is looked for among some executions at a time, and the answer says where it goes on. */
import type { Counts, Page } from './shapes';

/** So many rows fill a table: a page with fewer is followed by the next one. */
export const ENOUGH = 30;
/** So many pieces of a count are added up; beyond them there are at least so many. */
export const PIECES_MAX = 40;

/** A page with enough rows, of as many short ones as that takes. */
export async function enough<T>(
  ask: (cursor: string | null) => Promise<Page<T>>,
  cursor: string | null,
): Promise<Page<T>> {
  let page = await ask(cursor);
  const items = [...page.items];
  while (items.length < ENOUGH && page.next) {
    page = await ask(page.next);
    items.push(...page.items);
  }
  return { ...page, items };
}

function plus(one: Record<string, number>, two: Record<string, number>): Record<string, number> {
  const sum = { ...one };
  for (const [key, count] of Object.entries(two)) sum[key] = (sum[key] ?? 0) + count;
  return sum;
}

function both(one: Counts, two: Counts): Counts {
  const statuses = { ...one.statuses };
  for (const [hour, counts] of Object.entries(two.statuses ?? {}))
    statuses[hour] = plus(statuses[hour] ?? {}, counts);
  const counts = plus(one.counts, two.counts);
  return { by: one.by, total: one.total + two.total, counts, statuses, next: two.next };
}

/** A count of all, added up from its pieces. */
export async function summed(ask: (cursor: string | null) => Promise<Counts>): Promise<Counts> {
  let sum = await ask(null);
  for (let pieces = 1; sum.next && pieces < PIECES_MAX; pieces += 1) sum = both(sum, await ask(sum.next));
  return sum;
}
