/** Asking again for what has changed. */
import type { QueryClient, QueryKey } from '@tanstack/react-query';

/**
 * Have whatever stands under a key asked for again. A first answer that is on its way may be older than the news, and is not
 * given up for another one: once it is there, it is asked again.
 */
export async function anew(client: QueryClient, queryKey: QueryKey): Promise<void> {
  const all = client.getQueryCache().findAll({ queryKey });
  const isFirst = all.some(({ state }) => state.fetchStatus !== 'idle' && state.data === undefined);
  await client.invalidateQueries({ queryKey });
  if (isFirst) await client.invalidateQueries({ queryKey });
}
