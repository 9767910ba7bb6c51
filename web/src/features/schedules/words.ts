/** Times and outcomes of schedules, as people read them. */
import type { Schedule } from '../../api/schedules';

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

/** What the clocks of the schedule show: the day of the week, the date, the time; seconds where there are any. */
export function clocks(nominal: string): string {
  const [date = '', time = ''] = nominal.split('T');
  const day = DAYS[new Date(`${date}T00:00:00Z`).getUTCDay()] ?? '';
  return `${day} ${date} ${time.slice(0, time.startsWith(':00', 5) ? 5 : 8)}`.trim();
}

/** How long those that have ended took: half of them less than that. */
export function median(last: Schedule['last']): number | null {
  const took = last
    .flatMap((one) => (one.ended ? [Date.parse(one.ended) - Date.parse(one.started)] : []))
    .sort((a, b) => a - b);
  const [low, high] = [took[Math.floor((took.length - 1) / 2)], took[Math.floor(took.length / 2)]];
  return low === undefined || high === undefined ? null : (low + high) / 2;
}
