import { NOTIFICATION_STATES, type NotificationState } from '../../api/notifications';
import { oneOf, type Raw, text } from '../../kit/search';

export interface NotificationsSearch {
  state?: NotificationState;
  channel?: string;
  execution?: string;
  item?: string;
}

export function notificationsSearch(raw: Raw): NotificationsSearch {
  return {
    state: oneOf(raw, 'state', NOTIFICATION_STATES),
    channel: text(raw, 'channel'),
    execution: text(raw, 'execution'),
    item: text(raw, 'item'),
  };
}
