import { oneOf, type Raw, text } from '../../kit/search';

export const TABS = ['store', 'audit', 'secrets', 'tokens', 'users'] as const;
export type SystemTab = (typeof TABS)[number];

export interface SystemSearch {
  tab?: SystemTab;
  actor?: string;
}

export function systemSearch(raw: Raw): SystemSearch {
  return { tab: oneOf(raw, 'tab', TABS), actor: text(raw, 'actor') };
}
