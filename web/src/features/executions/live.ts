/** Rows of the list as they change: those that are shown are changed in place, new ones wait for whoever scrolls. */
import type { InfiniteData } from '@tanstack/react-query';
import { type ListQuery, momentOf } from '../../api/lists';
import type { ExecutionItem, Page } from '../../api/shapes';

export type Pages = InfiniteData<Page<ExecutionItem>, unknown>;

/** Whether a row belongs to what is asked for; of free words only what a row shows can be looked at here. */
export function belongs(query: ListQuery, row: ExecutionItem, now: number): boolean {
  if (query.status.length && !query.status.includes(row.status)) return false;
  if (query.playbook && row.playbook !== query.playbook) return false;
  const started = row.started ? Date.parse(row.started) : 0;
  const since = query.since ? momentOf(query.since, now) : null;
  const until = query.until ? momentOf(query.until, now) : null;
  if (since && started < Date.parse(since)) return false;
  if (until && started > Date.parse(until)) return false;
  for (const label of query.label) {
    const [name = '', ...rest] = label.split(':');
    if (row.labels[name] !== rest.join(':')) return false;
  }
  const within = [row.id, row.playbook, row.reason, ...Object.values(row.labels)].join('\n').toLowerCase();
  return query.q === '' || within.includes(query.q.toLowerCase());
}

/** Change a row where it stands. The same pages come back where it stands nowhere. */
export function patched(pages: Pages, row: ExecutionItem): Pages {
  let hit = false;
  const next = pages.pages.map((page) => {
    const at = page.items.findIndex((one) => one.id === row.id);
    if (at < 0) return page;
    hit = true;
    const items = [...page.items];
    items[at] = { ...items[at], ...row };
    return { ...page, items };
  });
  return hit ? { ...pages, pages: next } : pages;
}

export function removed(pages: Pages, id: string): Pages {
  return {
    ...pages,
    pages: pages.pages.map((page) => ({ ...page, items: page.items.filter((one) => one.id !== id) })),
  };
}

/** Put new rows on top, the latest first. */
export function prepended(pages: Pages, rows: readonly ExecutionItem[]): Pages {
  const [first, ...rest] = pages.pages;
  if (!first || !rows.length) return pages;
  const known = new Set(pages.pages.flatMap((page) => page.items.map((one) => one.id)));
  const fresh = rows.filter((row) => !known.has(row.id));
  const sorted = [...fresh].sort((a, b) => (b.started ?? '').localeCompare(a.started ?? ''));
  return { ...pages, pages: [{ ...first, items: [...sorted, ...first.items] }, ...rest] };
}
