import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect } from 'react';
import { API } from '../../api/client';
import { type Box, workItems } from '../../api/items';
import { keys } from '../../api/keys';
import { Stream, whileVisible } from '../../api/stream';

const TYPES = ['hello', 'item.row', 'item.gone', 'reset', 'bye'];

/** The work items of a box, asked for anew when the server says that one has changed. */
export function useInbox(box: Box) {
  const client = useQueryClient();
  const found = useInfiniteQuery({
    queryKey: keys.workItems(box),
    queryFn: ({ pageParam }) => workItems(box, pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next,
    staleTime: 5_000,
  });
  useEffect(() => {
    const take = (message: { type: string }) => {
      if (message.type !== 'bye') void client.invalidateQueries({ queryKey: ['work-items'] });
    };
    return whileVisible(new Stream({ url: () => `${API}/stream?topics=work-items`, types: TYPES, take }));
  }, [client]);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = found;
  const more = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  return { found, rows: found.data?.pages.flatMap((page) => page.items) ?? [], more };
}
