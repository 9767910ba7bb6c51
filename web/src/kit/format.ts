/** Numbers and moments in few characters. */

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const day = new Intl.DateTimeFormat('en-GB', { day: '2-digit', month: 'short' });
const whole = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'long' });
const count = new Intl.NumberFormat('en-GB');

const DAY = 86_400_000;

export function fullTime(at: string): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? at : `${whole.format(date)} (${at})`;
}

/** The time of day; of another day, that day too. */
export function shortTime(at: string, now: number = Date.now()): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return at;
  const today = Math.abs(now - date.getTime()) < DAY && new Date(now).getDate() === date.getDate();
  return today ? clock.format(date) : `${day.format(date)} ${clock.format(date).slice(0, 5)}`;
}

export function millis(at: string | number): string {
  const date = new Date(at);
  return `${clock.format(date)}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

/** So many of a unit and of a smaller one; of that nothing where there is none. */
function parts(s: number, large: number, one: string, small: number, two: string): string {
  const rest = Math.floor((s % large) / small);
  return `${Math.floor(s / large)} ${one}${rest ? ` ${rest} ${two}` : ''}`;
}

/** How long: two parts at most. */
export function duration(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) return '–';
  if (ms < 1) return '<1 ms';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 60) return `${s < 10 ? s.toFixed(1) : Math.floor(s)} s`;
  if (s < 3600) return parts(s, 60, 'm', 1, 's');
  if (s < 86_400) return parts(s, 3600, 'h', 60, 'm');
  return parts(s, 86_400, 'd', 3600, 'h');
}

export function number(n: number): string {
  return count.format(n);
}

/** An id, as far as one reads it. */
export function shortId(id: string): string {
  return id.length > 16 ? `${id.slice(0, 6)}…${id.slice(-4)}` : id;
}

export function bytes(n: number): string {
  if (n < 1024) return `${n} B`;
  const units = ['KB', 'MB', 'GB', 'TB'];
  let value = n / 1024;
  let at = 0;
  while (value >= 1024 && at < units.length - 1) {
    value /= 1024;
    at += 1;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[at]}`;
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${number(n)} ${n === 1 ? one : many}`;
}
