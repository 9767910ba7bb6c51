/** The story of one execution: fetched once, then carried on by its stream. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { until } from '../../api/again';
import { execution, frames, lineage } from '../../api/calls';
import { API } from '../../api/client';
import { connection } from '../../api/connection';
import { keys } from '../../api/keys';
import { Paced } from '../../api/paced';
import type { Execution, Frames } from '../../api/shapes';
import { type Message, Stream, whileVisible } from '../../api/stream';
import { type Asked, OVER } from '../../kit';
import { heldHere } from '../../story/held';
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

/** Fetch a story up to the present: of one that is long, or that went far ahead, an overview and its end. */
export async function filled(story: StoryStore, calls: { frames: typeof frames }, id: string): Promise<void> {
  const first = await calls.frames(id, story.version, story.version + story.held.block); // all of most stories
  if (first.version - story.version > story.held.records) await outlined(story, calls, id);
  else story.append(first);
  await caughtUp(story, (after) => calls.frames(id, after));
}

/** Have an overview take the place of what lies far back. */
export async function outlined(
  story: StoryStore,
  calls: { frames: typeof frames },
  id: string,
): Promise<void> {
  story.outline(await calls.frames(id, 0, undefined, story.held.bins));
}

const PASTS_MAX = 8;

/** What an execution took over that begins with the past of another one: how things stood there, and where they parted. */
export async function pastOf(
  id: string,
  calls: { lineage: typeof lineage; frames: typeof frames },
  deep = PASTS_MAX,
): Promise<{ story: StoryStore; at: number } | null> {
  const { origin } = await calls.lineage(id);
  if (!origin || deep === 0) return null;
  const story = new StoryStore(heldHere());
  const last = await calls.frames(origin.id, 0, origin.at, 1);
  if (last.seq) story.outline(last, 0);
  else story.append(last);
  const before = await pastOf(origin.id, calls, deep - 1);
  if (before) story.inherit(before.story, before.at);
  return { story, at: origin.at };
}

function isForked(story: StoryStore): boolean {
  return story.typeOf(1) === 'execution.forked';
}

/** What is looked at rests for so long before it is fetched: a drag over many records fetches none. */
export const REST_MS = 120;

/** The record that is shown: that which is asked for, as soon as it is known how things stood then. */
export function useShown(story: StoryStore, edition: number, asked: number): number {
  const shown = useRef(asked);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what could not be fetched is asked for again
  useEffect(() => {
    const want = () => void Promise.all([story.want(asked), story.want(asked + 1)]);
    if (!story.has(asked)) return want();
    const timer = setTimeout(want, REST_MS);
    return () => clearTimeout(timer);
  }, [story, edition, asked]);
  if (story.has(asked)) shown.current = asked;
  else if (!story.has(shown.current)) shown.current = story.near(asked);
  return shown.current;
}

/** Whether nothing can come any more: it is over, and its last record is here. */
export function isThrough(head: HeadTold | undefined, version: number): boolean {
  return head !== undefined && OVER.has(head.status) && version >= head.version;
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

/** Follow an execution, and begin at a record of it; of none, nothing is fetched. It is told once all of it is here. */
export function useStory(id: string | null, at?: number) {
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
  const begins = useRef(at);
  begins.current = at;

  useEffect(() => {
    current.current = id;
    const fresh = new StoryStore(heldHere(), (after, until) => frames(id ?? '', after, until));
    setStory(fresh);
    setReady(false);
    setError(null);
    setGone(false);
    if (id === null) return;
    let end: (() => void) | null = null;
    let over = false;
    const isHere = () => current.current === id && !over;

    const fill = () => filled(fresh, { frames }, id);
    const fetched = (ask: () => Promise<void>) => until({ ask, isWanted: isHere, told: setError });
    const fillAgain = () => void fetched(fill);
    let shortening = false;
    const shorten = () => {
      if (!fresh.isTooLong || shortening) return;
      shortening = true;
      const done = () => {
        shortening = false;
      };
      void outlined(fresh, { frames }, id).then(done, done); // one that fails is tried again with the next records
    };
    const asking = new Paced(ASK_MS, () => void client.invalidateQueries({ queryKey: keys.execution(id) }));
    const refetch = () => asking.push(null);
    const explaining = new Paced(
      ASK_MS,
      () => void client.invalidateQueries({ queryKey: keys.explanations(id) }),
    );
    const told = (change: HeadTold) =>
      client.setQueryData<Execution>(keys.execution(id), (was) => (was ? { ...was, ...change } : was));
    const showing = new Paced<{ frames: Frames } | { head: HeadTold }>(SHOW_MS, (all) => {
      const parts = all.flatMap((one) => ('frames' in one ? [one.frames] : []));
      if (parts.length && !fresh.append(...parts)) fillAgain();
      shorten();
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
        fillAgain();
        refetch();
      } else if (message.type === 'hello') {
        connection.version((message.data as { server: string }).server);
      } else if (message.type === 'live') {
        explaining.push(null); // a try failed and another one comes: of that there is no record
      } else if (message.type === 'execution.gone') setGone(true);
    };

    const begin = async () => {
      const isFilled = await fetched(async () => {
        await fill();
        if (begins.current !== undefined) await fresh.want(begins.current);
      });
      if (!isFilled || !isHere()) return;
      setReady(true);
      if (isForked(fresh) || !fresh.isWhole) {
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
        goesOn: () => !isThrough(client.getQueryData<Execution>(keys.execution(id)), fresh.version),
        poll: async () => {
          const before = fresh.version;
          await fill();
          shorten();
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
      explaining.end();
      end?.();
    };
  }, [id, client]);

  const edition = useSyncExternalStore(story.subscribe, story.edition);
  const whole: Asked<Execution> = {
    data: ready ? head.data : undefined,
    error: head.error ?? error,
    dataUpdatedAt: head.dataUpdatedAt,
    refetch: () => (error ? location.reload() : head.refetch()),
  };
  return { story, edition, head, ready, whole, gone };
}
