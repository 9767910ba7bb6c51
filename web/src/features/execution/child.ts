/** The execution that a step started, shown inside the one that started it: lazily, and one at a time. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useMemo, useRef } from 'react';
import { graph as fetchGraph, runs } from '../../api/calls';
import { keys } from '../../api/keys';
import { problemOf } from '../../api/problems';
import type { Page, RunRow, WaitingTold } from '../../api/shapes';
import { toast } from '../../kit';
import { usePaced } from '../../kit/usePaced';
import type { StoryStore } from '../../story/store';
import { byStep } from '../../viewer/looks';
import type { Child } from '../../viewer/picture';
import { type ExecutionSearch, readChild } from './search';
import { useExplanation } from './side/ExplainTab';
import { ASK_MS, useShown, useStory } from './useStory';

const NONE: ReadonlyMap<string, WaitingTold> = new Map();

export function useChild(
  said: string | undefined,
  story: StoryStore,
  seq: number,
  live: boolean,
): Child | null {
  const named = useMemo(() => readChild(said), [said]);
  const id = named?.id ?? null;
  const told = useStory(id);
  const head = told.head.data;
  const graph = useQuery({
    queryKey: keys.graph(head?.digest ?? '', 'step'),
    queryFn: () => fetchGraph(head!.digest, 'step'),
    staleTime: Number.POSITIVE_INFINITY,
    enabled: head !== undefined,
  }).data;
  const asked = live ? told.story.version : told.story.seqAt(story.timeOf(seq));
  const own = useShown(told.story, told.edition, asked);
  const latest = usePaced(told.story.version, ASK_MS);
  const explained = useExplanation({ id: id ?? '', live, seq: id && told.ready ? own : 0 }, latest).data;
  const waiting = useMemo(() => (explained ? byStep(explained.waiting) : NONE), [explained]);
  const step = named ? story.barOf(named.run)?.step : undefined;
  const { ready, edition } = told;
  const inner = told.story;
  return useMemo(
    () => (id && step && ready ? { id, step, head, story: inner, edition, graph, seq: own, waiting } : null),
    [id, step, ready, head, inner, edition, graph, own, waiting],
  );
}

/** Show the last execution that a step had started by a record, or no more. */
export function useOpenChild(
  id: string,
  seq: number,
  search: ExecutionSearch,
  go: (change: Partial<ExecutionSearch>) => void,
) {
  const client = useQueryClient();
  const latest = useRef({ seq, open: search.child, go });
  latest.current = { seq, open: search.child, go };
  return useCallback(
    (step: string) => {
      const { seq, open, go } = latest.current;
      const show = (found: Page<RunRow>) => {
        const run = found.items.filter((one) => one.child).at(-1);
        const next = run ? `${run.n}/${run.child}` : undefined;
        if (next) go({ child: next === open ? undefined : next });
        else toast(`${step} has started no execution`, 'those of a loop stand in its family', 'failed');
      };
      client
        .fetchQuery({ queryKey: keys.runs(id, step, seq), queryFn: () => runs(id, step, seq) })
        .then(show, (error: unknown) =>
          toast('It could not be looked up', problemOf(error).message, 'failed'),
        );
    },
    [client, id],
  );
}
