/** A list that comes in pages. Every list of every page is fetched by this. */
import { type QueryKey, useInfiniteQuery } from '@tanstack/react-query';
import { useCallback, useMemo } from 'react';

export interface Paged<T> {
  items: T[];
  /** Where the next page begins; absent behind the last one. */
  next?: string | null;
}

interface Asked<T> {
  key: QueryKey;
  fetch: (cursor: string | null) => Promise<Paged<T>>;
  /** Rows that are enough: whoever wants more asks for less. */
  most?: number;
  staleTime?: number;
  enabled?: boolean;
}

/** The rows that are here, and how to get more of them: once at a time, as long as there are any. */
export function usePages<T>({ key, fetch, most = Number.POSITIVE_INFINITY, ...options }: Asked<T>) {
  const found = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam }) => fetch(pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next ?? undefined,
    ...options,
  });
  const { data, hasNextPage, isFetchingNextPage, fetchNextPage } = found;
  const rows = useMemo(() => data?.pages.flatMap((page) => page.items) ?? [], [data]);
  const isMore = hasNextPage && !isFetchingNextPage && rows.length < most;
  const more = useCallback(() => {
    if (isMore) void fetchNextPage({ cancelRefetch: false });
  }, [isMore, fetchNextPage]);
  return { found, rows, more };
}
