/** The pages of the header, in order. A feature that has a page stands here and in the router. */
export interface NavEntry {
  to: string;
  label: string;
  /** What its keys are after `g`. */
  key: string;
}

export const NAV: readonly NavEntry[] = [
  { to: '/executions', label: 'Executions', key: 'e' },
  { to: '/playbooks', label: 'Playbooks', key: 'p' },
  { to: '/inbox', label: 'Inbox', key: 'i' },
  { to: '/schedules', label: 'Schedules', key: 'c' },
  { to: '/triggers', label: 'Triggers', key: 't' },
  { to: '/notifications', label: 'Notifications', key: 'n' },
  { to: '/workers', label: 'Workers', key: 'w' },
  { to: '/system', label: 'System', key: 's' },
];
