/**
 * Records that follow each other, all of them, from a moment on of which the marking is known. It knows no rule of the
 * kernel: the marking is the sum of what the records say they moved.
 */
import { FAILS, type Frames, OPERATOR } from './frames';
import type { Names } from './names';
import { countAtMost, lastAtMost } from './search';

const EVERY = 256;

/** What its own records say of a step. */
export interface StepCounts {
  started: number;
  done: number;
  failed: number;
  retries: number;
  /** Records in which iterations of it failed. */
  parts: number;
  /** Records in which somebody decided its outcome. */
  decided: number;
  /** The last record about it, 0 where there is none, and whether its last run failed. */
  last: number;
  lastFailed: boolean;
}

export interface StepFacts extends StepCounts {
  /** Runs under way, and tokens that wait before it. */
  active: number;
  ready: number;
}

/** `beyond`: it went on behind what is held, and what became of it is not known here. */
export type BarState = 'running' | 'done' | 'failed' | 'withdrawn' | 'returned' | 'beyond';

export interface Bar {
  run: number;
  step: string;
  /** The record in which it began; of one of which nothing is held but its end, one that is not before that. */
  first: number;
  /** The record in which it ended; 0 while it has not. */
  last: number;
  state: BarState;
  /** The times of both. */
  from: number;
  to: number;
}

/** What was known before the first record of a stretch. */
export interface Base {
  seq: number;
  time: number;
  marking: Int32Array;
  taken: Int32Array;
  steps: ReadonlyMap<string, { counts: StepCounts; bar: Bar | null }>;
}

export const BEGINNING: Base = {
  seq: 0,
  time: 0,
  marking: new Int32Array(0),
  taken: new Int32Array(0),
  steps: new Map(),
};

export const NO_COUNTS: StepCounts = {
  started: 0,
  done: 0,
  failed: 0,
  retries: 0,
  parts: 0,
  decided: 0,
  last: 0,
  lastFailed: false,
};

interface Columns {
  readonly type: readonly number[];
  readonly step: readonly number[];
  readonly run: readonly number[];
  readonly flag: readonly number[];
  readonly delta: readonly (readonly number[])[];
}

interface Checkpoint {
  marking: Int32Array;
  taken: Int32Array;
}

const BEGINS = 'step.started';
const ENDS: Record<string, BarState> = {
  'step.done': 'done',
  'loop.done': 'done',
  'step.failed': 'failed',
  'run.returned': 'returned',
};
const TRIES = new Set(['attempt.ended', 'run.redelivered']);

export class Stretch {
  readonly at: number[] = [];
  readonly type: number[] = [];
  readonly step: number[] = [];
  readonly run: number[] = [];
  readonly flag: number[] = [];
  readonly delta: (readonly number[])[] = [];
  readonly bars: Bar[] = [];
  /** The runs of which a part failed. */
  readonly inPart = new Set<number>();
  /** The records that are marked. */
  readonly marked: number[] = [];
  #checkpoints: Checkpoint[] = [];
  #tallies = new Map<string, StepCounts[]>();
  #byRun = new Map<number, Bar>();
  #byStep = new Map<string, Bar[]>();
  #open = new Map<string, Bar[]>();
  /** By step: runs that were under way before the first record, and of which nothing else is known. */
  #unseen = new Map<string, number>();

  constructor(
    readonly names: Names,
    readonly base: Base = BEGINNING,
  ) {
    for (const [step, { bar }] of base.steps) {
      if (bar) this.#begin({ ...bar });
      this.#unseen.set(step, this.#activeIn(step, base.marking) - (bar && !bar.last ? 1 : 0));
    }
  }

  /** The last record that it has; where it has none, the one before it. */
  get last(): number {
    return this.base.seq + this.delta.length;
  }

  /** Whether it has a record. */
  holds(seq: number): boolean {
    return seq > this.base.seq && seq <= this.last;
  }

  /** Whether it knows how things stood after a record. */
  reaches(seq: number): boolean {
    return seq >= this.base.seq && seq <= this.last;
  }

  /** The moments from which to which it goes. */
  get span(): { from: number; to: number } {
    const from = this.base.seq ? this.base.time : (this.at[0] ?? 0);
    return { from, to: this.at.at(-1) ?? from };
  }

  /** Go on with those records of a part that come next; false where some between are missing. */
  append(frames: Frames): boolean {
    if (frames.first > this.last + 1) return false;
    let at = frames.at0;
    for (let n = 0; n < frames.dt.length; n++) {
      at += frames.dt[n]!;
      if (frames.first + n === this.last + 1) this.#take(frames, n, at);
    }
    return true;
  }

  /** The same, from a later record on. */
  from(seq: number): Stretch {
    const rest = new Stretch(this.names, this.baseAt(seq));
    const after = seq - this.base.seq;
    for (let n = after; n < this.delta.length; n++) rest.#take(this, n, this.at[n]!);
    return rest;
  }

  /** What is known after a record, for who goes on from there. */
  baseAt(seq: number): Base {
    const { marking, taken } = this.#fold(seq);
    const steps = new Map<string, { counts: StepCounts; bar: Bar | null }>();
    for (const step of this.names.steps) {
      const counts = this.countsAt(seq, step);
      const bar = this.lastBar(step, seq) ?? null;
      if (counts.last || bar || this.#activeIn(step, marking))
        steps.set(step, { counts, bar: bar && asOf(bar, seq) });
    }
    return { seq, time: this.timeOf(seq), marking, taken, steps };
  }

  #take(from: Columns, n: number, at: number): void {
    if (this.delta.length % EVERY === 0) this.#checkpoints.push(this.#fold(this.last));
    this.at.push(at);
    this.type.push(from.type[n]!);
    this.step.push(from.step[n]!);
    this.run.push(from.run[n]!);
    this.flag.push(from.flag[n]!);
    this.delta.push(from.delta[n]!);
    if (from.flag[n]!) this.marked.push(this.last);
    this.#follow(this.last);
  }

  /** Keep the runs and the counts of steps. */
  #follow(seq: number): void {
    const [type, step] = [this.typeOf(seq), this.stepOf(seq)];
    const run = this.runOf(seq);
    const ended = ENDS[type];
    const time = this.timeOf(seq);
    if (step && type === BEGINS)
      this.#begin({ run, step, first: seq, last: 0, state: 'running', from: time, to: 0 });
    else if (ended && run && this.#ending(run, step)) this.#end(this.#byRun.get(run)!, seq, ended);
    else this.#withdrawn(seq);
    if (step) this.#count(step, seq, type);
  }

  /** Whether a run that ends is under way here; one that began before what is held is made known by that. */
  #ending(run: number, step: string): boolean {
    const known = this.#byRun.get(run);
    if (known) return known.last === 0;
    const unseen = this.#unseen.get(step) ?? 0;
    if (unseen <= 0) return false;
    this.#unseen.set(step, unseen - 1);
    const { seq, time, steps } = this.base;
    const first = Math.min(seq, steps.get(step)?.bar?.first ?? seq);
    this.#begin({ run, step, first, last: 0, state: 'running', from: time, to: 0 });
    return true;
  }

  #begin(bar: Bar): void {
    this.bars.push(bar);
    this.#byRun.set(bar.run, bar);
    const all = this.#byStep.get(bar.step) ?? [];
    this.#byStep.set(bar.step, all);
    // one that is made known by its end stands where it began
    all.splice(
      countAtMost(all, bar.run, (one) => one.run),
      0,
      bar,
    );
    if (bar.last) return;
    const open = this.#open.get(bar.step);
    if (open) open.push(bar);
    else this.#open.set(bar.step, [bar]);
  }

  #end(bar: Bar, seq: number, state: BarState): void {
    bar.last = seq;
    bar.to = this.timeOf(seq);
    bar.state = state;
    const open = this.#open.get(bar.step) ?? [];
    const at = open.indexOf(bar);
    if (at >= 0) open.splice(at, 1);
  }

  /** Runs went away with a record that names none of them: the oldest of their step are those. */
  #withdrawn(seq: number): void {
    const delta = this.deltaOf(seq);
    for (let n = 0; n < delta.length; n += 2) {
      const place = this.names.places[delta[n]!];
      if (place?.kind !== 'running') continue;
      const open = this.#open.get(place.step) ?? [];
      let gone = -delta[n + 1]!;
      const unseen = Math.min(Math.max(0, gone), this.#unseen.get(place.step) ?? 0);
      if (unseen) this.#unseen.set(place.step, this.#unseen.get(place.step)! - unseen);
      for (gone -= unseen; gone > 0 && open[0]; gone--) this.#end(open[0], seq, 'withdrawn');
    }
  }

  #count(step: string, seq: number, type: string): void {
    let tally = this.#tallies.get(step);
    if (!tally) {
      tally = [];
      this.#tallies.set(step, tally);
    }
    const was = tally.at(-1) ?? this.#before(step);
    const ended = ENDS[type];
    const flag = this.flagOf(seq);
    const isPart = type !== 'step.failed' && (flag & FAILS) !== 0;
    if (isPart && this.runOf(seq)) this.inPart.add(this.runOf(seq));
    const isDecided = ended !== undefined && (flag & OPERATOR) !== 0;
    tally.push({
      started: was.started + (type === BEGINS ? 1 : 0),
      done: was.done + (ended === 'done' ? 1 : 0),
      failed: was.failed + (ended === 'failed' ? 1 : 0),
      retries: was.retries + (TRIES.has(type) ? 1 : 0),
      parts: was.parts + (isPart ? 1 : 0),
      decided: was.decided + (isDecided ? 1 : 0),
      last: seq,
      lastFailed: ended === 'failed' ? true : ended === 'done' ? false : was.lastFailed,
    });
  }

  #before(step: string): StepCounts {
    return this.base.steps.get(step)?.counts ?? NO_COUNTS;
  }

  // Looking

  #number(column: readonly number[], seq: number, none: number): number {
    return column[seq - this.base.seq - 1] ?? none;
  }

  stepOf(seq: number): string {
    return this.names.steps[this.#number(this.step, seq, -1)] ?? '';
  }

  typeOf(seq: number): string {
    return this.names.types[this.#number(this.type, seq, -1)] ?? '';
  }

  timeOf(seq: number): number {
    return this.#number(this.at, Math.min(seq, this.last), this.base.time);
  }

  flagOf(seq: number): number {
    return this.#number(this.flag, seq, 0);
  }

  runOf(seq: number): number {
    return this.#number(this.run, seq, 0);
  }

  deltaOf(seq: number): readonly number[] {
    return this.delta[seq - this.base.seq - 1] ?? [];
  }

  markingAt(seq: number): Int32Array {
    return this.#fold(seq).marking;
  }

  takenAt(seq: number): Int32Array {
    return this.#fold(seq).taken;
  }

  #fold(seq: number): Checkpoint {
    const until = Math.max(0, Math.min(seq, this.last) - this.base.seq);
    const at = Math.min(Math.floor(until / EVERY), this.#checkpoints.length - 1);
    const nearest = this.#checkpoints[at] ?? this.base;
    const marking = new Int32Array(this.names.places.length);
    const taken = new Int32Array(this.names.places.length);
    marking.set(nearest.marking);
    taken.set(nearest.taken);
    for (let n = Math.max(0, at) * EVERY; n < until; n++) {
      const delta = this.delta[n]!;
      for (let i = 0; i < delta.length; i += 2) {
        const [place, count] = [delta[i]!, delta[i + 1]!];
        marking[place] = (marking[place] ?? 0) + count;
        if (count > 0) taken[place] = (taken[place] ?? 0) + count;
      }
    }
    return { marking, taken };
  }

  #activeIn(step: string, marking: Int32Array): number {
    let active = 0;
    for (const n of this.names.placesOf(step))
      if (this.names.places[n]!.kind === 'running') active += marking[n] ?? 0;
    return active;
  }

  countsAt(seq: number, step: string): StepCounts {
    const tally = this.#tallies.get(step) ?? [];
    return tally[countAtMost(tally, seq, lastOf) - 1] ?? this.#before(step);
  }

  /** The runs of a step of which it knows, in the order in which they began. */
  barsOf(step: string): readonly Bar[] {
    return this.#byStep.get(step) ?? [];
  }

  /** The run of a step that had begun last by a record. */
  lastBar(step: string, seq: number): Bar | undefined {
    const bars = this.barsOf(step);
    return bars[countAtMost(bars, seq, (bar) => bar.first) - 1];
  }

  barOf(run: number): Bar | undefined {
    return this.#byRun.get(run);
  }

  /** How many runs of a step were under way all the time. */
  throughout(step: string): number {
    return this.#unseen.get(step) ?? 0;
  }

  /** The steps that have runs, in the order in which they first began. */
  get ran(): Iterable<string> {
    return this.#byStep.keys();
  }

  /** The records about a step, in order. */
  recordsOf(step: string): readonly number[] {
    return (this.#tallies.get(step) ?? []).map(lastOf);
  }

  /** The last record at or before a moment. */
  seqAt(time: number): number {
    return this.base.seq + Math.max(this.base.seq ? 0 : 1, lastAtMost(this.at, time) + 1);
  }
}

function lastOf(counts: StepCounts): number {
  return counts.last;
}

/** A run as it was at a record, whatever became of it later. */
function asOf(bar: Bar, seq: number): Bar {
  return bar.last > seq ? { ...bar, last: 0, to: 0, state: 'running' } : bar;
}
