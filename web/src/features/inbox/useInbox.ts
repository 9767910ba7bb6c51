import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { anew } from '../../api/anew';
import { API } from '../../api/client';
import { type ItemQuery, workItems } from '../../api/items';
import { keys } from '../../api/keys';
import { Stream, whileVisible } from '../../api/stream';
import { usePages } from '../../kit';

const TYPES = ['hello', 'item.row', 'item.gone', 'reset', 'bye'];

/** The work items of a query, asked for anew when the server says that one has changed. */
export function useInbox(query: ItemQuery) {
  const client = useQueryClient();
  const list = usePages({
    key: keys.workItems(query),
    fetch: (cursor) => workItems(query, cursor),
    staleTime: 5_000,
  });
  useEffect(() => {
    const take = (message: { type: string }) => {
      if (message.type !== 'bye') void anew(client, ['work-items']);
    };
    return whileVisible(new Stream({ url: () => `${API}/stream?topics=work-items`, types: TYPES, take }));
  }, [client]);
  return list;
}
