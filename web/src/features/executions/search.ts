import type { ListQuery } from '../../api/lists';
import { list, oneOf, type Raw, text } from '../../kit/search';
import { type Col, colsIn } from './cols';

export interface ExecutionsSearch {
  q?: string;
  status?: string[];
  playbook?: string;
  label?: string[];
  since?: string;
  until?: string;
  sort?: 'started' | '-started';
  view?: string;
  sel?: string;
  /** Which columns are shown, beside those that always are. */
  cols?: Col[];
  /** The selected row is looked at beside the list. */
  peek?: 'yes';
  /** An act on many that was begun here. */
  op?: string;
}

export function executionsSearch(raw: Raw): ExecutionsSearch {
  const cols = colsIn(list(raw, 'cols') ?? []);
  return {
    q: text(raw, 'q'),
    status: list(raw, 'status'),
    playbook: text(raw, 'playbook'),
    label: list(raw, 'label'),
    since: text(raw, 'since'),
    until: text(raw, 'until'),
    sort: oneOf(raw, 'sort', ['started', '-started']),
    view: text(raw, 'view'),
    sel: text(raw, 'sel'),
    cols: cols?.length ? cols : undefined,
    peek: oneOf(raw, 'peek', ['yes']),
    op: text(raw, 'op'),
  };
}

export function queryOf(search: ExecutionsSearch): ListQuery {
  return {
    q: search.q ?? '',
    status: search.status ?? [],
    playbook: search.playbook ?? '',
    label: search.label ?? [],
    since: search.since ?? '',
    until: search.until ?? '',
    sort: search.sort ?? '-started',
  };
}

/** The parameters of the address that say the same as a query; what is as usual is not said. */
export function searchOf(query: ListQuery): ExecutionsSearch {
  return {
    q: query.q || undefined,
    status: query.status.length ? query.status : undefined,
    playbook: query.playbook || undefined,
    label: query.label.length ? query.label : undefined,
    since: query.since || undefined,
    until: query.until || undefined,
    sort: query.sort === '-started' ? undefined : query.sort,
  };
}
