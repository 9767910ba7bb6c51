import { useQuery } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { me } from '../api/calls';
import { connection } from '../api/connection';
import { keys } from '../api/keys';
import type { Doer } from './act';

/** Who is at the page: what they may, and whether the server is there. */
export function useDoer(): Doer {
  const who = useQuery({ queryKey: keys.me, queryFn: me });
  const offline = useSyncExternalStore(connection.subscribe, connection.getLine) === 'offline';
  return { may: who.data?.may ?? [], offline };
}
