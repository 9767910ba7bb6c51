import type { WaitingTold } from '../../../api/shapes';

/** The work item that a step waits for, as the call that would complete it names it; none where it waits for none. */
export function itemOf({ acts = [] }: Pick<WaitingTold, 'acts'>): string {
  const path = acts.find((one) => one.act === 'complete')?.path ?? '';
  return /\/work-items\/[^/]+\/([^/]+)\/complete$/.exec(path)?.[1] ?? '';
}
