import { notifications } from '@mantine/notifications';

/** Say what came of what the person did; nothing else is said like that. */
export function toast(title: string, message = '', kind: 'done' | 'failed' = 'done'): void {
  notifications.show({
    title,
    message,
    color: kind === 'failed' ? 'red' : 'teal',
    withBorder: true,
    closeButtonProps: { 'aria-label': 'Close' },
  });
}
