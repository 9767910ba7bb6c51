/**
 * A long story at a glance: what was at the end of every bin. At an end all is exact, and records can be gone on with
 * from there; between two ends nothing is known but the worst record.
 */
import { type Frames, type Mark, markOf } from './frames';
import type { Names } from './names';
import { lastAtMost } from './search';
import type { Bar, BarState, Base, StepCounts } from './stretch';

type Became = NonNullable<Frames['became']>[number][number];

/** When a step had runs: a stretch of time, of which single runs are not known. */
export interface Band {
  /** It begins behind a record. */
  after: number;
  from: number;
  to: number;
  state: BarState;
}

interface Marked {
  seq: number;
  time: number;
  type: string;
  step: string;
  flag: number;
}

interface Sums {
  ends: number[];
  marking: number[];
  taken: number[];
}

export class Overview {
  /** The last record of every bin, and when that was. */
  readonly ends: readonly number[];
  readonly times: readonly number[];
  readonly marked: readonly Marked[];
  readonly start: number;
  #names: Names;
  #gaps: readonly (readonly [number, number])[];
  #places: Sums[] = [];
  #steps = new Map<string, { ends: number[]; became: Became[] }>();
  #bands = new Map<string, Band[]>();

  constructor(names: Names, frames: Frames) {
    const { seq, came, became, marked, marked_ms, gap } = frames;
    if (!seq || !came || !became || !marked || !marked_ms || !gap) throw new Error('these are no bins');
    this.#names = names;
    this.#gaps = gap;
    this.ends = seq;
    this.start = frames.at0;
    let time = frames.at0;
    this.times = frames.dt.map((ms) => {
      time += ms;
      return time;
    });
    this.marked = marked.map((one, n) => ({
      seq: one,
      time: frames.at0 + marked_ms[n]!,
      type: names.types[frames.type[n]!] ?? '',
      step: names.steps[frames.step[n]!] ?? '',
      flag: frames.flag[n]!,
    }));
    seq.forEach((end, n) => {
      this.#add(end, frames.delta[n]!, came[n]!);
      for (const row of became[n]!) this.#became(end, row);
    });
  }

  #add(end: number, net: readonly number[], came: readonly number[]): void {
    const sumsOf = (place: number): Sums => {
      this.#places[place] ??= { ends: [], marking: [], taken: [] };
      const sums = this.#places[place];
      if (sums.ends.at(-1) !== end) {
        sums.ends.push(end);
        sums.marking.push(sums.marking.at(-1) ?? 0);
        sums.taken.push(sums.taken.at(-1) ?? 0);
      }
      return sums;
    };
    for (let n = 0; n < net.length; n += 2) {
      const sums = sumsOf(net[n]!);
      sums.marking[sums.marking.length - 1]! += net[n + 1]!;
    }
    for (let n = 0; n < came.length; n += 2) {
      const sums = sumsOf(came[n]!);
      sums.taken[sums.taken.length - 1]! += came[n + 1]!;
    }
  }

  #became(end: number, row: Became): void {
    const step = this.#names.steps[row[0]] ?? '';
    const told = this.#steps.get(step);
    if (!told) this.#steps.set(step, { ends: [end], became: [row] });
    else {
      told.ends.push(end);
      told.became.push(row);
    }
  }

  /** How many records a bin has; the last one may have fewer. */
  get size(): number {
    return this.ends[0] ?? 1;
  }

  get version(): number {
    return this.ends.at(-1) ?? 0;
  }

  isEnd(seq: number): boolean {
    return seq === 0 || this.ends[this.#index(seq)] === seq;
  }

  /** The last end at or before a record; 0 where there is none. */
  endAtMost(seq: number): number {
    return this.ends[this.#index(seq)] ?? 0;
  }

  /** The end that is nearest to a record. */
  near(seq: number): number {
    const [before, behind] = [this.endAtMost(seq), this.ends[this.#index(seq) + 1]];
    return behind !== undefined && (behind - seq < seq - before || before === 0) ? behind : before;
  }

  /** From which end to which the records are fetched around one: whole bins, and about so many of them. */
  around(seq: number, count: number): { after: number; until: number } {
    const each = Math.max(1, Math.floor(count / this.size));
    const first = Math.floor(lastAtMost(this.ends, seq - 1) + 1);
    const group = Math.floor(first / each) * each;
    return {
      after: this.ends[group - 1] ?? 0,
      until: this.ends[Math.min(group + each, this.ends.length) - 1] ?? 0,
    };
  }

  #index(seq: number): number {
    return lastAtMost(this.ends, seq);
  }

  /** The last end at or before a moment. */
  seqAt(time: number): number {
    return this.ends[lastAtMost(this.times, time)] ?? 1;
  }

  /** When the last end at or before a record was; of the worst of a bin, when that was. */
  timeOf(seq: number): number {
    return this.worst(seq)?.time ?? this.times[this.#index(seq)] ?? this.start;
  }

  /** A record, where it is the one by which its bin is called. */
  worst(seq: number): Marked | undefined {
    const one = this.marked[lastAtMost(this.ends, seq - 1) + 1];
    return one?.seq === seq ? one : undefined;
  }

  markAt(seq: number): Mark | null {
    return markOf(this.worst(seq)?.flag ?? 0);
  }

  /** Moments between which something happened: ends, and around the longest time in which nothing did. */
  moments(until: number): number[] {
    const found = [this.start];
    for (let n = 0; n < this.ends.length && this.ends[n]! <= until; n++) {
      const [from, to] = this.#gaps[n]!;
      found.push(Math.max(found.at(-1)!, this.start + from), this.start + to, this.times[n]!);
    }
    return found;
  }

  /** What was known at the end of a bin. */
  baseAt(end: number): Base {
    const marking = new Int32Array(this.#names.places.length);
    const taken = new Int32Array(this.#names.places.length);
    this.#places.forEach((sums, place) => {
      const at = lastAtMost(sums.ends, end);
      marking[place] = sums.marking[at] ?? 0;
      taken[place] = sums.taken[at] ?? 0;
    });
    const steps: [string, { counts: StepCounts; bar: Bar | null }][] = [];
    for (const [step, { ends, became }] of this.#steps) {
      const row = became[lastAtMost(ends, end)];
      if (row) steps.push([step, { counts: countsIn(row), bar: this.#barIn(row, step) }]);
    }
    const time = end ? (this.times[this.#index(end)] ?? this.start) : 0;
    return { seq: end, time, marking, taken, steps: new Map(steps) };
  }

  #barIn(row: Became, step: string): Bar | null {
    const [run, first, last, state, from, to] = row.slice(9) as [
      number,
      number,
      number,
      BarState,
      number,
      number,
    ];
    if (!run) return null;
    return { run, step, first, last, state, from: this.start + from, to: last ? this.start + to : 0 };
  }

  /** The steps that had runs, in the order in which they are first told of. */
  get ran(): string[] {
    return [...this.#steps].flatMap(([step, { became }]) => (became.at(-1)![9] ? [step] : []));
  }

  /** When a step had runs. */
  bandsOf(step: string): readonly Band[] {
    let bands = this.#bands.get(step);
    if (!bands) {
      bands = this.#banded(step);
      this.#bands.set(step, bands);
    }
    return bands;
  }

  #banded(step: string): Band[] {
    const bands: Band[] = [];
    const told = this.#steps.get(step);
    if (!told) return bands;
    const inside = this.#names.placesOf(step).filter((n) => this.#names.places[n]!.kind === 'running');
    let [row, active] = [0, 0];
    let was: StepCounts | null = null;
    this.ends.forEach((end, n) => {
      const counts: StepCounts | null = told.ends[row] === end ? countsIn(told.became[row++]!) : was;
      const isBusy = active > 0 || counts?.started !== was?.started;
      active = inside.reduce((sum, place) => sum + this.#marking(place, end), 0);
      const hasFailed = (counts?.failed ?? 0) > (was?.failed ?? 0);
      const hasEnded = (counts?.done ?? 0) > (was?.done ?? 0);
      was = counts;
      if (!isBusy) return;
      const state: BarState = hasFailed ? 'failed' : hasEnded ? 'done' : 'running';
      const from = n ? this.times[n - 1]! : this.start;
      const last = bands.at(-1);
      if (last?.state === state && last.to === from) last.to = this.times[n]!;
      else bands.push({ after: n ? this.ends[n - 1]! : 0, from, to: this.times[n]!, state });
    });
    return bands;
  }

  #marking(place: number, end: number): number {
    const sums = this.#places[place];
    return sums ? (sums.marking[lastAtMost(sums.ends, end)] ?? 0) : 0;
  }
}

function countsIn(row: Became): StepCounts {
  const [, started, done, failed, retries, parts, decided, last, lastFailed] = row;
  return { started, done, failed, retries, parts, decided, last, lastFailed };
}
