import { oneOf, type Raw, text } from '../../kit/search';

export const TABS = ['graph', 'source', 'versions'] as const;
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
