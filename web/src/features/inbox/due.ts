import { duration } from '../../kit/format';

/** When it is due, from here: in how long, or since when it is late. */
export function dueIn(due: string | null | undefined, now: number): { text: string; late: boolean } {
  if (!due) return { text: '–', late: false };
  const left = Date.parse(due) - now;
  if (Number.isNaN(left)) return { text: due, late: false };
  return left < 0
    ? { text: `${duration(-left)} late`, late: true }
    : { text: `in ${duration(left)}`, late: false };
}
