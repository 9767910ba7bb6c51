import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { keys } from '../../api/keys';
import { PLACES_MAX, places } from '../../api/limits';
import type { ExecutionItem } from '../../api/shapes';

const EVERY_MS = 3000;
/** Why somebody waits who stands in a line: a whole execution, or a step of it. */
const TURNS = new Set(['limit', 'resource']);
const NOBODY: ReadonlyMap<string, number> = new Map();

/** Those rows that wait for their turn: the first of them, whose places are asked for. */
export function inLine(rows: readonly ExecutionItem[]): string[] {
  const waiting = rows.filter((row) => row.status === 'waiting' && TURNS.has(row.reason));
  return waiting.slice(0, PLACES_MAX).map((row) => row.id);
}

/**
 * How many stand in front of those who wait for a limit. A place changes when others go, and no row of a list says so:
 * while there are such rows, it is asked for now and then.
 */
export function usePlaces(rows: readonly ExecutionItem[]): ReadonlyMap<string, number> {
  const ids = useMemo(() => inLine(rows), [rows]);
  const found = useQuery({
    queryKey: keys.places(ids),
    queryFn: () => places(ids),
    enabled: ids.length > 0,
    refetchInterval: EVERY_MS,
    placeholderData: (before) => before,
  });
  return ids.length && found.data ? found.data : NOBODY;
}
