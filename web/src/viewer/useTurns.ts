import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { iterationMap } from '../api/calls';
import { keys } from '../api/keys';
import { unpacked } from './maps';

/** While a loop goes on its map is fetched so often, however fast its records come. */
const AGAIN_MS = 1000;

/** All iterations of a run of a loop; `last` is the record in which it ended, 0 while it goes on. */
export function useTurns(id: string, run: number, last: number) {
  const found = useQuery({
    queryKey: keys.map(id, run, last),
    queryFn: () => iterationMap(id, run),
    placeholderData: (was) => was,
    refetchInterval: last ? false : AGAIN_MS,
    staleTime: last ? Number.POSITIVE_INFINITY : AGAIN_MS,
  });
  const turns = useMemo(() => (found.data ? unpacked(found.data) : null), [found.data]);
  return { found, turns };
}
