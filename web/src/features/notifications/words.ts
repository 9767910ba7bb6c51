import type { NotificationItem, NotificationState } from '../../api/notifications';

export const STATE_WORDS: Record<NotificationState, string> = {
  waiting: 'Waiting',
  sent: 'Sent',
  given_up: 'Given up',
  needless: 'Needless',
};

/** The channel, and the person on it where it is for one. */
export function whom(one: Pick<NotificationItem, 'channel' | 'person'>): string {
  return one.person ? `${one.channel}/${one.person}` : one.channel;
}
