/** What can be done about something that people or systems are told. */
import { RotateCw } from 'lucide-react';
import { API } from '../api/client';
import type { NotificationItem } from '../api/notifications';
import type { Act, Doer } from './act';

export interface NotificationView extends Doer {
  notification: NotificationItem;
}

export const RETRY_NOTIFICATION: Act<NotificationView> = {
  id: 'retry',
  label: 'Send it again',
  icon: RotateCw,
  keys: 'r',
  on: 'notification',
  permission: 'steer',
  danger: false,
  makes: false,
  tried: null,
  when: ({ notification }) => {
    if (notification.state === 'sent') return 'it was sent';
    return notification.state === 'needless' ? 'nobody needs to be told any more' : null;
  },
  says: ({ notification }) =>
    `It is tried at once, with as many tries as at first. It was tried ${notification.attempts} × so far.`,
  fields: [],
  call: ({ notification }) => ({
    method: 'POST',
    path: `${API}/notifications/${encodeURIComponent(notification.id)}/retry`,
    body: {},
  }),
  cli: ({ notification }) => ['notifications', 'retry', notification.id],
};

export const NOTIFICATION_ACTS: readonly Act<NotificationView>[] = [RETRY_NOTIFICATION];
