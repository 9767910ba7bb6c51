import { BOXES, type Box } from '../../api/items';
import { oneOf, type Raw, text } from '../../kit/search';

export interface InboxSearch {
  box?: Box;
  item?: string;
}

export function inboxSearch(raw: Raw): InboxSearch {
  const item = text(raw, 'item');
  return { box: oneOf(raw, 'box', BOXES), item: item?.includes('/') ? item : undefined };
}
