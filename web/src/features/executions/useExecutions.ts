import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
import { anew } from '../../api/anew';
import { executions } from '../../api/calls';
import { API } from '../../api/client';
import { keys } from '../../api/keys';
import type { ListQuery } from '../../api/lists';
import type { ExecutionItem } from '../../api/shapes';
import { type Message, Stream, whileVisible } from '../../api/stream';
import { usePages } from '../../kit';
import { belongs, type Pages, patched, prepended, removed } from './live';

export const ROWS_MAX = 2000;
const COUNTS_MS = 1000;

/** The list for a query, kept fresh by the stream. `waiting` are new rows that nobody scrolled up for. */
export function useExecutions(query: ListQuery) {
  const client = useQueryClient();
  const key = keys.list(query);
  const { found, rows, more } = usePages({
    key,
    fetch: (cursor) => executions(query, cursor),
    most: ROWS_MAX,
    staleTime: 5_000,
  });
  const [waiting, setWaiting] = useState<ExecutionItem[]>([]);
  const atTop = useRef(true);
  const latest = useRef({ query, key });
  latest.current = { query, key };
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  /** What was told while the list was asked for: the answer may be older, so it is told again after it. */
  const heard = useRef<Message[]>([]);

  const recount = useCallback(() => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      void client.invalidateQueries({ queryKey: ['executions', 'counts'] });
      void client.invalidateQueries({ queryKey: ['executions', 'hours'] });
    }, COUNTS_MS);
  }, [client]);

  const take = useCallback(
    (message: Message) => {
      const now = latest.current;
      const change = (by: (pages: Pages) => Pages) =>
        client.setQueryData<Pages>(now.key, (pages) => (pages ? by(pages) : pages));
      if (message.type === 'execution.row') {
        const row = message.data as ExecutionItem;
        recount();
        if (client.isFetching({ queryKey: now.key })) heard.current.push(message);
        const pages = client.getQueryData<Pages>(now.key);
        if (!pages) return;
        const next = patched(pages, row);
        if (next !== pages) change(() => next);
        else if (belongs(now.query, row, Date.now())) {
          if (atTop.current && now.query.sort === '-started') change((was) => prepended(was, [row]));
          else setWaiting((was) => [row, ...was.filter((one) => one.id !== row.id)]);
        }
      } else if (message.type === 'execution.gone') {
        if (client.isFetching({ queryKey: now.key })) heard.current.push(message);
        change((pages) => removed(pages, (message.data as { id: string }).id));
        recount();
      } else if (message.type === 'hello' || message.type === 'reset') {
        void anew(client, keys.executions);
      }
    },
    [client, recount],
  );

  useEffect(() => {
    if (found.isFetching) return;
    for (const message of heard.current.splice(0)) take(message);
  }, [found.isFetching, take]);

  useEffect(() => {
    const types = ['hello', 'execution.row', 'execution.gone', 'reset', 'bye'];
    const poll = () =>
      client.refetchQueries({ queryKey: keys.executions, type: 'active' }, { throwOnError: true });
    const url = () => `${API}/stream?topics=executions`;
    const end = whileVisible(new Stream({ url, types, take, poll }));
    return () => {
      clearTimeout(timer.current);
      timer.current = undefined;
      end();
    };
  }, [take, client]);

  const text = JSON.stringify(key);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another question, other news
  useEffect(() => setWaiting([]), [text]);

  const showWaiting = useCallback(() => {
    client.setQueryData<Pages>(latest.current.key, (pages) => (pages ? prepended(pages, waiting) : pages));
    setWaiting([]);
  }, [client, waiting]);

  const onTop = useCallback((top: boolean) => {
    atTop.current = top;
  }, []);
  return { found, rows, waiting, showWaiting, more, onTop };
}
