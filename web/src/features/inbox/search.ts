import { BOXES, type Box, DUES, type Due, type ItemQuery, SORTS, type Sort } from '../../api/items';
import { oneOf, type Raw, text } from '../../kit/search';

export interface InboxSearch {
  box?: Box;
  q?: string;
  playbook?: string;
  due?: Due;
  sort?: Sort;
  item?: string;
}

export function inboxSearch(raw: Raw): InboxSearch {
  const item = text(raw, 'item');
  return {
    box: oneOf(raw, 'box', BOXES),
    q: text(raw, 'q'),
    playbook: text(raw, 'playbook'),
    due: oneOf(raw, 'due', DUES),
    sort: oneOf(raw, 'sort', SORTS),
    item: item?.includes('/') ? item : undefined,
  };
}

/** What an address asks for; what it does not say is as usual. */
export function queryOf(search: InboxSearch): ItemQuery {
  return {
    box: search.box ?? 'open',
    q: search.q ?? '',
    playbook: search.playbook ?? '',
    due: search.due ?? '',
    sort: search.sort ?? 'priority',
  };
}

/** Whether an address leaves some of a box out. */
export function isNarrowed({ q, playbook, due }: ItemQuery): boolean {
  return q !== '' || playbook !== '' || due !== '';
}
