import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { anew } from './anew';
import { API } from './client';
import { keys } from './keys';
import type { Schemas } from './shapes';
import { type Message, Stream, whileVisible } from './stream';

const TYPES = ['hello', 'playbook.applied', 'reset', 'bye'];

type Applied = Pick<Schemas['PlaybookItem'], 'path' | 'digest'>;

/**
 * Hear which playbooks are applied while a page is open, by whomever: what is known of them is asked for anew. `take` is
 * told of each; of none where some may have been missed, as while the page opened.
 */
export function useApplied(take?: (applied: Applied | null) => void): void {
  const client = useQueryClient();
  const told = useRef(take);
  told.current = take;
  useEffect(() => {
    const all = () => {
      void anew(client, keys.playbooks);
      void anew(client, ['playbook']);
      told.current?.(null);
    };
    const hear = ({ type, data }: Message) => {
      if (type === 'playbook.applied') {
        const applied = data as Applied;
        void anew(client, keys.playbooks);
        void anew(client, keys.playbook(applied.path));
        told.current?.(applied);
      } else if (type === 'reset' || type === 'hello') all(); // what the page asked for may be older than the stream
    };
    const url = () => `${API}/stream?topics=playbooks`;
    return whileVisible(new Stream({ url, types: TYPES, take: hear }));
  }, [client]);
}
