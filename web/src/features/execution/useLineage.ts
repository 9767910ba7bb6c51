import { useQuery } from '@tanstack/react-query';
import { lineage } from '../../api/calls';
import { keys } from '../../api/keys';

/** Who started an execution, whom it started, and whose past it has. */
export function useLineage(id: string, version: number, enabled = true) {
  return useQuery({
    queryKey: [...keys.lineage(id), version],
    queryFn: () => lineage(id),
    placeholderData: (was) => was,
    enabled,
  });
}
