import { oneOf, type Raw, text } from '../../kit/search';

export const TABS = ['graph', 'source', 'versions', 'executions', 'tests', 'schedules'] as const;
export type PlaybookTab = (typeof TABS)[number];

export interface PlaybookSearch {
  v?: string;
  /** The version that the one of `v` is held against. */
  with?: string;
  tab?: PlaybookTab;
}

export function playbookSearch(raw: Raw): PlaybookSearch {
  return { v: text(raw, 'v'), with: text(raw, 'with'), tab: oneOf(raw, 'tab', TABS) };
}

export interface PlaybooksSearch {
  /** The path of the row that is selected. */
  sel?: string;
  /** Words that a path has. */
  q?: string;
}

/** Those whose path or name has all of some words, however they are written. */
export function fitting<T extends { path: string; name: string }>(rows: readonly T[], q: string): T[] {
  const words = q.toLowerCase().split(/\s+/);
  return rows.filter((row) => {
    const text = `${row.path} ${row.name}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

export function playbooksSearch(raw: Raw): PlaybooksSearch {
  return { sel: text(raw, 'sel'), q: text(raw, 'q') };
}
