/** What people and systems are told: what was sent, what waits, what was given up. */
import { client, taken } from './client';
import type { Schemas } from './shapes';

export type NotificationItem = Schemas['NotificationItem'];
export const NOTIFICATION_STATES = ['waiting', 'sent', 'given_up', 'needless'] as const;
export type NotificationState = (typeof NOTIFICATION_STATES)[number];

export interface NotificationsAsked {
  status?: NotificationState;
  channel?: string;
  execution?: string;
}

export function notifications(asked: NotificationsAsked, cursor: string | null) {
  const query = { ...asked, limit: 100, ...(cursor ? { cursor } : {}) };
  return taken(client.GET('/api/v1/notifications', { params: { query } }));
}
