/** The query of the list of executions: what stands in the bar, in the address, and in the call. */

export interface ListQuery {
  q: string;
  status: string[];
  playbook: string;
  label: string[];
  since: string;
  until: string;
  sort: 'started' | '-started';
}

export const NO_QUERY: ListQuery = {
  q: '',
  status: [],
  playbook: '',
  label: [],
  since: '',
  until: '',
  sort: '-started',
};

const SPAN = /^(\d{1,6})(s|m|h|d|w)$/;
const UNIT: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** A moment as people write it: `24h` ago, or a date. Null where it is none. */
export function momentOf(text: string, now: number): string | null {
  const span = SPAN.exec(text);
  if (span) return new Date(now - Number(span[1]) * (UNIT[span[2] ?? 's'] ?? 1) * 1000).toISOString();
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : new Date(at).toISOString();
}

const WORD = /(?:[^\s"]+|"[^"]*")+/g;

function bare(word: string): string {
  return word.replaceAll('"', '');
}

/** Read what stands in the query bar: `status:waiting playbook:orders label.env=prod since:24h some words`. */
export function parsed(text: string): ListQuery {
  const found: ListQuery = { ...NO_QUERY, status: [], label: [] };
  const words: string[] = [];
  for (const word of text.match(WORD) ?? []) {
    const [, name = '', value = ''] = /^([a-z]+):(.+)$/.exec(word) ?? [];
    const label = /^label\.([^=\s]+)=(.*)$/.exec(word);
    if (label) found.label.push(`${label[1]}:${bare(label[2] ?? '')}`);
    else if (name === 'status') found.status.push(...bare(value).split(',').filter(Boolean));
    else if (name === 'playbook') found.playbook = bare(value);
    else if (name === 'since') found.since = bare(value);
    else if (name === 'until') found.until = bare(value);
    else words.push(bare(word));
  }
  found.q = words.join(' ');
  return found;
}

function quoted(value: string): string {
  return /\s/.test(value) ? `"${value}"` : value;
}

/** Write a query as it stands in the bar; `parsed` reads it back. */
export function written(query: ListQuery): string {
  const parts: string[] = [];
  if (query.status.length) parts.push(`status:${query.status.join(',')}`);
  if (query.playbook) parts.push(`playbook:${quoted(query.playbook)}`);
  for (const label of query.label) {
    const [name, ...rest] = label.split(':');
    parts.push(`label.${name}=${quoted(rest.join(':'))}`);
  }
  if (query.since) parts.push(`since:${quoted(query.since)}`);
  if (query.until) parts.push(`until:${quoted(query.until)}`);
  if (query.q) parts.push(query.q);
  return parts.join(' ');
}

export function isFiltered(query: ListQuery): boolean {
  return written(query) !== '';
}

/** The parameters of the call. `now` is rounded by whoever asks, so that the same view is the same question. */
export function asked(query: ListQuery, now: number): Record<string, string | string[]> {
  const found: Record<string, string | string[]> = {};
  if (query.q) found.q = query.q;
  if (query.status.length) found.status = query.status;
  if (query.playbook) found.playbook = query.playbook;
  if (query.label.length) found.label = query.label;
  const since = query.since ? momentOf(query.since, now) : null;
  const until = query.until ? momentOf(query.until, now) : null;
  if (since) found.since = since;
  if (until) found.until = until;
  return found;
}
