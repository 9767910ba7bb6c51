/** The pages of the header, in order. A feature that has a page stands here and in the router. */
export interface NavEntry {
  to: string;
  label: string;
  /** What its keys are after `g`. */
  key: string;
  /** Where pages of one of its things are. */
  within?: readonly string[];
  /** How narrow a window may be and still show it; without it, it is behind "More". */
  from?: number;
}

export const NAV: readonly NavEntry[] = [
  { to: '/executions', label: 'Executions', key: 'e', from: 0, within: ['/e/'] },
  { to: '/playbooks', label: 'Playbooks', key: 'p', from: 760, within: ['/p/', '/edit/'] },
  { to: '/inbox', label: 'Inbox', key: 'i', from: 0 },
  { to: '/schedules', label: 'Schedules', key: 'c', from: 760 },
  { to: '/triggers', label: 'Triggers', key: 't' },
  { to: '/notifications', label: 'Notifications', key: 'n' },
  { to: '/workers', label: 'Workers', key: 'w' },
  { to: '/system', label: 'System', key: 's' },
];

/** The pages that a window of a width shows, and those that are behind "More". */
export function split(width: number): { shown: NavEntry[]; more: NavEntry[] } {
  const isShown = (entry: NavEntry) => entry.from !== undefined && width >= entry.from;
  return { shown: NAV.filter(isShown), more: NAV.filter((entry) => !isShown(entry)) };
}

/** Whether a page belongs to an entry: it is its list, or one of the things in it. */
export function isWithin({ to, within = [] }: NavEntry, path: string): boolean {
  return path === to || path.startsWith(`${to}/`) || within.some((start) => path.startsWith(start));
}
