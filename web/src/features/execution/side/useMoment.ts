import { useQuery } from '@tanstack/react-query';
import { at } from '../../../api/calls';
import { keys } from '../../../api/keys';
import type { View } from '../view';
import { useSettled } from './useSettled';

/** The execution as it was at the record that is shown, asked when the hand rests. A past never changes. */
export function useMoment(view: View) {
  return useMomentAt(view.id, useSettled(view.live ? view.latest : view.seq));
}

/** How things stood at a record; at none there is nothing. */
export function useMomentAt(id: string, seq: number) {
  return useQuery({
    queryKey: keys.at(id, seq),
    queryFn: () => at(id, seq),
    enabled: seq > 0,
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: (was) => was,
  });
}
