/** What was written to the variable that is selected: the graph marks who wrote it, the timeline when, the log lists the records. */
import { useQuery } from '@tanstack/react-query';
import { history } from '../../api/calls';
import { keys } from '../../api/keys';
import type { Write } from '../../api/shapes';
import type { Sel } from '../../story/sel';

/** All that was written to a variable, oldest first. */
export function useHistory(id: string, name: string | null, version: number) {
  return useQuery({
    queryKey: keys.history(id, name ?? '', version),
    queryFn: () => history(id, name ?? ''),
    enabled: name !== null,
    placeholderData: (was) => was,
  });
}

/** The writes to the variable that a selection is; null where it is none, or where they are not here yet. */
export function useWrites(id: string, sel: Sel | null, version: number): readonly Write[] | null {
  const found = useHistory(id, sel?.kind === 'ctx' ? sel.key : null, version).data;
  return sel?.kind === 'ctx' && found ? found.items : null;
}

/** The steps that had written by a record. */
export function writersBy(writes: readonly Write[] | null, seq: number): ReadonlySet<string> {
  return new Set(writes?.flatMap((one) => (one.seq <= seq && one.step ? [one.step] : [])));
}
