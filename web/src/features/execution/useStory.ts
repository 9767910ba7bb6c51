/** The story of one execution: fetched once, then carried on by its stream. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { execution, frames, lineage } from '../../api/calls';
import { API } from '../../api/client';
import { connection } from '../../api/connection';
import { keys } from '../../api/keys';
import { Paced } from '../../api/paced';
import type { Execution, Frames } from '../../api/shapes';
import { type Message, Stream, whileVisible } from '../../api/stream';
import { OVER } from '../../kit';
import { StoryStore } from '../../story/store';

/** Fetch whatever is missing up to the present; parts come in order, each is asked for while the one before is read. */
export async function caughtUp(story: StoryStore, fetch: (after: number) => Promise<Frames>): Promise<void> {
  let part = await fetch(story.version);
  for (;;) {
    const last = part.first - 1 + part.dt.length;
    const more = last < part.version && part.dt.length > 0 ? fetch(last) : null;
    story.append(part);
    if (!more) return;
    part = await more;
  }
}

const PASTS_MAX = 8;

/** What an execution took over that begins with the past of another one: the story of that, and where they parted. */
export async function pastOf(
  id: string,
  calls: { lineage: typeof lineage; frames: typeof frames },
  deep = PASTS_MAX,
): Promise<{ story: StoryStore; at: number } | null> {
  const { origin } = await calls.lineage(id);
  if (!origin || deep === 0) return null;
  const story = new StoryStore();
  await caughtUp(story, (after) => calls.frames(origin.id, after, origin.at));
  const before = isForked(story) ? await pastOf(origin.id, calls, deep - 1) : null;
  if (before) story.inherit(before.story, before.at);
  return { story, at: origin.at };
}

function isForked(story: StoryStore): boolean {
  return story.typeOf(1) === 'execution.forked';
}

interface HeadTold {
  version: number;
  status: string;
  reason: string;
}

const noPast = () => undefined;
/** However many records come in a second, they are shown, and the head is asked for, so often at most. */
const SHOW_MS = 100;
export const ASK_MS = 1000;
const TYPES = ['hello', 'frames', 'head', 'live', 'log', 'lagged', 'reset', 'execution.gone', 'bye'];

/** Follow an execution; of none, nothing is fetched. */
export function useStory(id: string | null) {
  const client = useQueryClient();
  const [story, setStory] = useState(() => new StoryStore());
  const [error, setError] = useState<unknown>(null);
  const [ready, setReady] = useState(false);
  const [gone, setGone] = useState(false);
  const head = useQuery({
    queryKey: keys.execution(id ?? ''),
    queryFn: () => execution(id ?? ''),
    enabled: id !== null,
  });
  const current = useRef(id);

  useEffect(() => {
    current.current = id;
    const fresh = new StoryStore();
    setStory(fresh);
    setReady(false);
    setError(null);
    setGone(false);
    if (id === null) return;
    let end: (() => void) | null = null;
    let over = false;
    const isHere = () => current.current === id && !over;

    const fill = () => caughtUp(fresh, (after) => frames(id, after));
    const asking = new Paced(ASK_MS, () => void client.invalidateQueries({ queryKey: keys.execution(id) }));
    const refetch = () => asking.push(null);
    const told = (change: HeadTold) =>
      client.setQueryData<Execution>(keys.execution(id), (was) => (was ? { ...was, ...change } : was));
    const showing = new Paced<{ frames: Frames } | { head: HeadTold }>(SHOW_MS, (all) => {
      const parts = all.flatMap((one) => ('frames' in one ? [one.frames] : []));
      if (parts.length && !fresh.append(...parts)) void fill().catch(setError);
      const head = all.flatMap((one) => ('head' in one ? [one.head] : [])).at(-1);
      if (head) told(head);
    });

    const take = (message: Message) => {
      if (!isHere()) return;
      if (message.type === 'frames') {
        showing.push({ frames: message.data as Frames });
      } else if (message.type === 'head') {
        showing.push({ head: message.data as HeadTold });
        refetch();
      } else if (message.type === 'reset' || message.type === 'lagged') {
        void fill().catch(setError);
        refetch();
      } else if (message.type === 'hello') {
        connection.version((message.data as { server: string }).server);
      } else if (message.type === 'execution.gone') setGone(true);
    };

    const isOver = () => OVER.has(client.getQueryData<Execution>(keys.execution(id))?.status ?? '');
    const begin = async () => {
      try {
        await fill();
      } catch (problem) {
        if (isHere()) setError(problem);
        return;
      }
      if (!isHere()) return;
      setReady(true);
      if (isForked(fresh)) {
        // an origin that is gone is no reason to show nothing
        void pastOf(id, { lineage, frames }).then(
          (past) => past && fresh.inherit(past.story, past.at),
          noPast,
        );
      }
      const stream = new Stream({
        url: () => `${API}/executions/${encodeURIComponent(id)}/stream?after=${fresh.version}`,
        types: TYPES,
        take,
        goesOn: () => !isOver(),
        poll: async () => {
          const before = fresh.version;
          await fill();
          if (fresh.version !== before) refetch();
        },
      });
      end = whileVisible(stream);
    };
    void begin();
    return () => {
      over = true;
      showing.end();
      asking.end();
      end?.();
    };
  }, [id, client]);

  const edition = useSyncExternalStore(story.subscribe, story.edition);
  return { story, edition, head, ready, error, gone };
}
