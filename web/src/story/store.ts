/**
 * The story of an execution, a counter-example, a simulation or a test: folded here, so that a drag of the scrubber asks
 * nobody. It knows no rule of the kernel: the marking is the sum of what the records say they moved.
 */
import { FAILS, type Frames, type Mark, markOf, OPERATOR, type Place, placeOf } from './frames';

const EVERY = 256;

export interface StepFacts {
  started: number;
  done: number;
  failed: number;
  retries: number;
  /** Records in which iterations of it failed. */
  parts: number;
  /** Records in which somebody decided its outcome. */
  decided: number;
  /** Runs under way, and tokens that wait before it. */
  active: number;
  ready: number;
  /** The last record about it, 0 where there is none, and whether its last run failed. */
  last: number;
  lastFailed: boolean;
}

export type BarState = 'running' | 'done' | 'failed' | 'withdrawn' | 'returned';

export interface Bar {
  run: number;
  step: string;
  first: number;
  /** The record in which it ended; 0 while it has not. */
  last: number;
  state: BarState;
}

interface Tally {
  seqs: number[];
  started: number[];
  done: number[];
  failed: number[];
  retries: number[];
  parts: number[];
  decided: number[];
  lastFailed: boolean[];
}

interface Checkpoint {
  marking: Int32Array;
  taken: Int32Array;
}

const BEGINS = new Set(['step.started']);
const ENDS: Record<string, BarState> = {
  'step.done': 'done',
  'loop.done': 'done',
  'step.failed': 'failed',
  'run.returned': 'returned',
};
const TRIES = new Set(['attempt.ended', 'run.redelivered']);

export class StoryStore {
  readonly places: Place[] = [];
  readonly types: string[] = [];
  readonly steps: string[] = [];
  readonly at: number[] = [];
  readonly type: number[] = [];
  readonly step: number[] = [];
  readonly run: number[] = [];
  readonly flag: number[] = [];
  readonly delta: (readonly number[])[] = [];
  readonly bars: Bar[] = [];
  /** The records that are marked. */
  readonly marked: number[] = [];
  #checkpoints: Checkpoint[] = [];
  #tallies = new Map<string, Tally>();
  #byRun = new Map<number, Bar>();
  #byStep = new Map<string, Bar[]>();
  #placesOf = new Map<string, number[]>();
  #open = new Map<string, Bar[]>();
  #before: { story: StoryStore; at: number } | null = null;
  #listeners = new Set<() => void>();
  #edition = 0;

  /** How many records it tells of. */
  get version(): number {
    return this.delta.length;
  }

  /** Changes whenever anything does. */
  edition = (): number => this.#edition;

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  };

  /** Go on with more records, in parts. False where some between are missing: the caller fetches from `version` on. */
  append(...parts: readonly Frames[]): boolean {
    const isWhole = parts.every((frames) => this.#part(frames));
    this.#changed();
    return isWhole;
  }

  #part(frames: Frames): boolean {
    if (frames.seq) throw new Error('records that were put into bins cannot be gone on with');
    if (frames.first > this.version + 1) return false;
    for (let n = this.places.length; n < frames.places.length; n++)
      this.#place(placeOf(frames.places[n]!), n);
    for (let n = this.types.length; n < frames.types.length; n++) this.types.push(frames.types[n]!);
    for (let n = this.steps.length; n < frames.steps.length; n++) this.steps.push(frames.steps[n]!);
    let at = frames.at0;
    for (let n = 0; n < frames.dt.length; n++) {
      at += frames.dt[n]!;
      if (frames.first + n === this.version + 1) this.#take(frames, n, at);
    }
    return true;
  }

  #changed(): void {
    this.#edition += 1;
    for (const listener of this.#listeners) listener();
  }

  /** It has the past of another one, up to a record of that: what was done then was done. */
  inherit(story: StoryStore, at: number): void {
    this.#before = { story, at };
    this.#changed();
  }

  /** What a step had done in a past that was taken over. */
  before(step: string): StepFacts | null {
    return this.#before ? this.#before.story.stepAt(this.#before.at, step) : null;
  }

  #place(place: Place, n: number): void {
    this.places.push(place);
    const of = this.#placesOf.get(place.step);
    if (of) of.push(n);
    else this.#placesOf.set(place.step, [n]);
  }

  #take(frames: Frames, n: number, at: number): void {
    if (this.version % EVERY === 0) this.#checkpoints.push(this.#fold(this.version));
    const seq = this.version + 1;
    this.at.push(at);
    this.type.push(frames.type[n]!);
    this.step.push(frames.step[n]!);
    this.run.push(frames.run[n]!);
    this.flag.push(frames.flag[n]!);
    this.delta.push(frames.delta[n]!);
    if (frames.flag[n]!) this.marked.push(seq);
    this.#follow(seq);
  }

  /** Keep the runs and the counts of steps. */
  #follow(seq: number): void {
    const type = this.types[this.type[seq - 1]!] ?? '';
    const step = this.stepOf(seq);
    const run = this.run[seq - 1]!;
    const ended = ENDS[type];
    if (step && BEGINS.has(type)) this.#begin({ run, step, first: seq, last: 0, state: 'running' });
    else if (ended && run && this.#byRun.get(run)?.last === 0) this.#end(this.#byRun.get(run)!, seq, ended);
    else this.#withdrawn(seq);
    if (step) this.#count(step, seq, type);
  }

  #begin(bar: Bar): void {
    this.bars.push(bar);
    this.#byRun.set(bar.run, bar);
    const all = this.#byStep.get(bar.step);
    if (all) all.push(bar);
    else this.#byStep.set(bar.step, [bar]);
    const open = this.#open.get(bar.step);
    if (open) open.push(bar);
    else this.#open.set(bar.step, [bar]);
  }

  #end(bar: Bar, seq: number, state: BarState): void {
    bar.last = seq;
    bar.state = state;
    const open = this.#open.get(bar.step) ?? [];
    const at = open.indexOf(bar);
    if (at >= 0) open.splice(at, 1);
  }

  /** Runs went away with a record that names none of them: the oldest of their step are those. */
  #withdrawn(seq: number): void {
    const delta = this.delta[seq - 1]!;
    for (let n = 0; n < delta.length; n += 2) {
      const place = this.places[delta[n]!];
      if (place?.kind !== 'running') continue;
      const open = this.#open.get(place.step) ?? [];
      for (let gone = -delta[n + 1]!; gone > 0 && open[0]; gone--) this.#end(open[0], seq, 'withdrawn');
    }
  }

  #count(step: string, seq: number, type: string): void {
    let tally = this.#tallies.get(step);
    if (!tally) {
      tally = {
        seqs: [],
        started: [],
        done: [],
        failed: [],
        retries: [],
        parts: [],
        decided: [],
        lastFailed: [],
      };
      this.#tallies.set(step, tally);
    }
    const before = tally.seqs.length - 1;
    const ended = ENDS[type];
    tally.seqs.push(seq);
    tally.started.push((tally.started[before] ?? 0) + (BEGINS.has(type) ? 1 : 0));
    tally.done.push((tally.done[before] ?? 0) + (ended === 'done' ? 1 : 0));
    tally.failed.push((tally.failed[before] ?? 0) + (ended === 'failed' ? 1 : 0));
    tally.retries.push((tally.retries[before] ?? 0) + (TRIES.has(type) ? 1 : 0));
    const isPart = type !== 'step.failed' && ((this.flag[seq - 1] ?? 0) & FAILS) !== 0;
    tally.parts.push((tally.parts[before] ?? 0) + (isPart ? 1 : 0));
    const isDecided = ended !== undefined && ((this.flag[seq - 1] ?? 0) & OPERATOR) !== 0;
    tally.decided.push((tally.decided[before] ?? 0) + (isDecided ? 1 : 0));
    const was = tally.lastFailed[before] ?? false;
    tally.lastFailed.push(ended === 'failed' ? true : ended === 'done' ? false : was);
  }

  // Looking

  /** The step of a record; empty where it is about none. */
  stepOf(seq: number): string {
    const number = this.step[seq - 1] ?? -1;
    return number < 0 ? '' : (this.steps[number] ?? '');
  }

  typeOf(seq: number): string {
    return this.types[this.type[seq - 1] ?? -1] ?? '';
  }

  /** The time of a record, in milliseconds since 1970. */
  timeOf(seq: number): number {
    return this.at[Math.max(0, Math.min(seq, this.version) - 1)] ?? 0;
  }

  markAt(seq: number): Mark | null {
    return markOf(this.flag[seq - 1] ?? 0);
  }

  /** The last record at or before a moment. */
  seqAt(time: number): number {
    return Math.max(1, countAtMost(this.at, time, itself));
  }

  /** How many tokens were in each place after a record, by the number of the place. */
  markingAt(seq: number): Int32Array {
    return this.#folded(seq).marking;
  }

  /** How many tokens had come along each arc up to a record, by `from/index>to`; with those of a past taken over. */
  passedAt(seq: number): Map<string, number> {
    const passed = this.#before ? this.#before.story.passedAt(this.#before.at) : new Map<string, number>();
    const taken = this.takenAt(seq);
    this.places.forEach((place, n) => {
      const name = arcName(place);
      if (name) passed.set(name, (passed.get(name) ?? 0) + (taken[n] ?? 0));
    });
    return passed;
  }

  /** How many tokens had come into each place up to a record. */
  takenAt(seq: number): Int32Array {
    return this.#folded(seq).taken;
  }

  #folded(seq: number): Checkpoint {
    return this.#fold(Math.max(0, Math.min(seq, this.version)));
  }

  #fold(seq: number): Checkpoint {
    const nearest = this.#checkpoints[Math.min(Math.floor(seq / EVERY), this.#checkpoints.length - 1)];
    const from = nearest ? Math.min(Math.floor(seq / EVERY), this.#checkpoints.length - 1) * EVERY : 0;
    const marking = new Int32Array(this.places.length);
    const taken = new Int32Array(this.places.length);
    if (nearest) {
      marking.set(nearest.marking);
      taken.set(nearest.taken);
    }
    for (let n = from; n < seq; n++) {
      const delta = this.delta[n]!;
      for (let i = 0; i < delta.length; i += 2) {
        const [place, count] = [delta[i]!, delta[i + 1]!];
        marking[place] = (marking[place] ?? 0) + count;
        if (count > 0) taken[place] = (taken[place] ?? 0) + count;
      }
    }
    return { marking, taken };
  }

  stepAt(seq: number, step: string, marking: Int32Array = this.markingAt(seq)): StepFacts {
    let active = 0;
    let ready = 0;
    for (const n of this.#placesOf.get(step) ?? []) {
      if (this.places[n]!.kind === 'running') active += marking[n] ?? 0;
      else ready += marking[n] ?? 0;
    }
    const tally = this.#tallies.get(step);
    const at = tally ? lastAtMost(tally.seqs, seq) : -1;
    const was = this.before(step);
    return {
      started: (was?.started ?? 0) + (tally?.started[at] ?? 0),
      done: (was?.done ?? 0) + (tally?.done[at] ?? 0),
      failed: (was?.failed ?? 0) + (tally?.failed[at] ?? 0),
      retries: (was?.retries ?? 0) + (tally?.retries[at] ?? 0),
      parts: (was?.parts ?? 0) + (tally?.parts[at] ?? 0),
      decided: (was?.decided ?? 0) + (tally?.decided[at] ?? 0),
      active,
      ready,
      last: tally?.seqs[at] ?? 0,
      lastFailed: tally?.lastFailed[at] ?? was?.lastFailed ?? false,
    };
  }

  /** The runs of a step, in the order in which they began. */
  barsOf(step: string): readonly Bar[] {
    return this.#byStep.get(step) ?? [];
  }

  /** How many runs of a step had begun by a record. */
  begunBy(step: string, seq: number): number {
    return countAtMost(this.barsOf(step), seq, (bar) => bar.first);
  }

  /** The run of a step that had begun last by a record. */
  lastBar(step: string, seq: number): Bar | undefined {
    return this.barsOf(step)[this.begunBy(step, seq) - 1];
  }

  /** The steps that have runs, in the order in which they first began. */
  get ran(): Iterable<string> {
    return this.#byStep.keys();
  }

  barOf(run: number): Bar | undefined {
    return this.#byRun.get(run);
  }

  /** The records about a step, in order. */
  recordsOf(step: string): readonly number[] {
    return this.#tallies.get(step)?.seqs ?? [];
  }

  /** The next record, in a direction, among some; null where there is none. */
  static next(among: readonly number[], seq: number, direction: 1 | -1): number | null {
    if (direction > 0) return among[lastAtMost(among, seq) + 1] ?? null;
    return among[lastAtMost(among, seq - 1)] ?? null;
  }
}

/** The name of the arc at whose end a place is; null where it is at the end of none. */
export function arcName(place: Place): string | null {
  return place.arc ? `${place.arc[0]}/${place.arc[1]}>${place.step}` : null;
}

/** How many of some, which stand in order, are not greater. */
function countAtMost<T>(among: readonly T[], most: number, numberOf: (one: T) => number): number {
  let [low, high] = [0, among.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numberOf(among[middle]!) <= most) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The index of the last number that is not greater; -1 where all are. */
export function lastAtMost(numbers: readonly number[], most: number): number {
  return countAtMost(numbers, most, itself) - 1;
}

function itself(number: number): number {
  return number;
}
