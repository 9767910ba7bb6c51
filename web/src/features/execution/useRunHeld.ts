/** What is selected is held: a run that began and ended far back is asked for, and a record with those around it. */
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { run as fetchRun } from '../../api/calls';
import { keys } from '../../api/keys';
import type { Sel } from '../../story/sel';
import type { StoryStore } from '../../story/store';

export function useRunHeld(id: string, story: StoryStore, edition: number, sel: Sel | null): void {
  const run = sel?.kind === 'run' || sel?.kind === 'iter' ? sel.run : 0;
  const isUnknown = run > 0 && !story.isWhole && !story.barOf(run);
  const told = useQuery({
    queryKey: keys.run(id, run, 0),
    queryFn: () => fetchRun(id, run),
    enabled: isUnknown,
  }).data;
  useEffect(() => {
    if (!isUnknown || told?.n !== run) return;
    story.learn({
      run,
      step: told.step,
      first: told.first,
      last: told.last ?? 0,
      state: told.state,
      from: Date.parse(told.started),
      to: told.ended ? Date.parse(told.ended) : 0,
    });
  }, [story, run, isUnknown, told]);
  const seq = sel?.kind === 'rec' ? sel.seq : 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: what could not be fetched is asked for again
  useEffect(() => void story.want(seq), [story, seq, edition]);
}
