/** What starts a playbook next by the clock. */
import type { Schedule } from '../../api/schedules';

/** The schedule of a playbook that is due next; one that is paused only where no other is. */
export function nextOf(all: readonly Schedule[], path: string): Schedule | null {
  let best: Schedule | null = null;
  for (const one of all) {
    if (one.playbook !== path) continue;
    if (!best || isSooner(one, best)) best = one;
  }
  return best;
}

function isSooner(one: Schedule, other: Schedule): boolean {
  const [mine, theirs] = [dueOf(one), dueOf(other)];
  return mine !== null && (theirs === null || mine < theirs);
}

/** When it is due, in milliseconds; null where it is paused or has no time left. */
export function dueOf(one: Schedule): number | null {
  return one.paused || one.due === null ? null : Date.parse(one.due);
}
