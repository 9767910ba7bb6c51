/** What led to what: since when the token of a run waited, when its attempts ended, and which runs the last one waited for. */
import type { StoryStore } from './store';

/** Longer stories are looked at without it: it reads every record. */
export const READ_MAX = 10_000;

export interface Cause {
  /** When the token came that the run began with; of several, the last. */
  since: number;
  /** The run from which it came; 0 where it came from none. */
  from: number;
  /** When attempts before the last one ended. */
  tries: readonly number[];
}

interface Arrival {
  time: number;
  run: number;
}

const TRIED = 'attempt.ended';

/** What is known of each run. Records are read once, however often and wherever a story is looked at. */
export class Causes {
  readonly runs = new Map<number, Cause & { tries: number[] }>();
  #waiting = new Map<number, Arrival[]>();
  #read = 0;

  constructor(private readonly story: StoryStore) {}

  /** Read what has come; null of a story that is not held, or too long to be read. */
  known(): ReadonlyMap<number, Cause> | null {
    const { story } = this;
    if (!story.isWhole || story.version > READ_MAX) return null;
    for (; this.#read < story.version; this.#read++) this.#take(this.#read + 1);
    return this.runs;
  }

  #take(seq: number): void {
    const { story } = this;
    const [time, run, type] = [story.timeOf(seq), story.runOf(seq), story.typeOf(seq)];
    const taken = moved(story, seq, this.#waiting, { time, run });
    if (type === 'step.started' && run)
      this.runs.set(run, { since: taken?.time ?? time, from: taken?.run ?? 0, tries: [] });
    else if (type === TRIED) this.runs.get(run)?.tries.push(time);
  }
}

/** Have tokens come and go at the places before steps; the last arrived of those that went. Who came first goes first. */
function moved(
  story: StoryStore,
  seq: number,
  waiting: Map<number, Arrival[]>,
  now: Arrival,
): Arrival | null {
  const delta = story.deltaOf(seq);
  let last: Arrival | null = null;
  for (let n = 0; n < delta.length; n += 2) {
    const [place, count] = [delta[n]!, delta[n + 1]!];
    if (story.places[place]?.kind !== 'ready') continue;
    const here = waiting.get(place) ?? [];
    waiting.set(place, here);
    for (let k = 0; k < count; k++) here.push(now);
    for (const gone of count < 0 ? here.splice(0, -count) : [])
      if (!last || gone.time >= last.time) last = gone;
  }
  return last;
}

/** The runs, each of which the next one waited for, up to the one that ended last by a record. */
export function criticalPath(
  story: StoryStore,
  causes: ReadonlyMap<number, Cause>,
  until: number,
): Set<number> {
  let [last, best] = [0, Number.NEGATIVE_INFINITY];
  for (const run of causes.keys()) {
    const bar = story.barOf(run);
    if (!bar || bar.first > until) continue;
    const end = bar.last === 0 || bar.last > until ? Number.POSITIVE_INFINITY : bar.to;
    if (end >= best) [last, best] = [run, end];
  }
  const path = new Set<number>();
  while (last && !path.has(last)) {
    path.add(last);
    last = causes.get(last)?.from ?? 0;
  }
  return path;
}
