import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { API } from '../../api/client';
import { type Box, workItems } from '../../api/items';
import { keys } from '../../api/keys';
import { Stream, whileVisible } from '../../api/stream';
import { usePages } from '../../kit';

const TYPES = ['hello', 'item.row', 'item.gone', 'reset', 'bye'];

/** The work items of a box, asked for anew when the server says that one has changed. */
export function useInbox(box: Box) {
  const client = useQueryClient();
  const list = usePages({
    key: keys.workItems(box),
    fetch: (cursor) => workItems(box, cursor),
    staleTime: 5_000,
  });
  useEffect(() => {
    const take = (message: { type: string }) => {
      if (message.type !== 'bye') void client.invalidateQueries({ queryKey: ['work-items'] });
    };
    return whileVisible(new Stream({ url: () => `${API}/stream?topics=work-items`, types: TYPES, take }));
  }, [client]);
  return list;
}
