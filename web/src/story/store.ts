/**
 * The story of an execution, a counter-example, a simulation or a test: folded here, so that a drag of the scrubber asks
 * nobody. A short one is held whole. Of a long one its end is held, which goes on, an overview of all of it, and a few
 * stretches that somebody looks at, so that a page is no larger for it.
 */
import { type Frames, type Mark, markOf, type Place } from './frames';
import { type Held, heldOf } from './held';
import { Names } from './names';
import { type Band, Overview } from './overview';
import { countAtMost, lastAtMost } from './search';
import { type Bar, type StepFacts, Stretch } from './stretch';

export { lastAtMost } from './search';
export type { Bar, BarState, StepFacts } from './stretch';

/** Fetches the records behind one, up to another. */
export type Ask = (after: number, until: number) => Promise<Frames>;

/** After so long what could not be fetched is asked for again. */
const AGAIN_MS = 2000;

export class StoryStore {
  #names = new Names();
  #tail = new Stretch(this.#names);
  #overview: Overview | null = null;
  /** What else is held, that which was looked at last at the end. */
  #blocks: Stretch[] = [];
  /** What is known at the end of a bin; many ask the same. */
  #end: { of: Overview; here: Stretch } | null = null;
  #asked = new Map<number, Promise<void>>();
  #learnt = new Map<number, Bar>();
  #before: { story: StoryStore; at: number } | null = null;
  #listeners = new Set<() => void>();
  #edition = 0;

  constructor(
    readonly held: Held = heldOf(Number.POSITIVE_INFINITY),
    private readonly ask?: Ask,
  ) {}

  /** How many records it tells of. */
  get version(): number {
    return this.#tail.last;
  }

  get places(): readonly Place[] {
    return this.#names.places;
  }

  get steps(): readonly string[] {
    return this.#names.steps;
  }

  /** Whether every record is held. */
  get isWhole(): boolean {
    return this.#tail.base.seq === 0;
  }

  /** What is known of all of it, where not all of it is held. */
  get overview(): Overview | null {
    return this.isWhole ? null : this.#overview;
  }

  /** From this record on all are held. */
  get tailAfter(): number {
    return this.#tail.base.seq;
  }

  /** Whether so much is held that an overview should take its place. */
  get isTooLong(): boolean {
    return this.#tail.delta.length > (this.isWhole ? this.held.records : 3 * this.held.block);
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
    const isComplete = parts.every((frames) => {
      if (frames.seq) throw new Error('records that were put into bins cannot be gone on with');
      this.#names.learn(frames);
      return this.#tail.append(frames);
    });
    this.#changed();
    return isComplete;
  }

  /** Take an overview, and let go of what lies far back: of all but the last records. */
  outline(frames: Frames, keep: number = this.held.block): void {
    this.#names.learn(frames);
    const made = new Overview(this.#names, frames);
    if (this.#overview && made.version < this.#overview.version) return; // it was overtaken
    this.#overview = made;
    const cut = made.endAtMost(made.version - keep);
    if (cut > this.#tail.base.seq) {
      this.#tail = this.#tail.reaches(cut)
        ? this.#tail.from(cut)
        : new Stretch(this.#names, made.baseAt(cut));
    }
    this.#changed();
  }

  #changed(): void {
    this.#edition += 1;
    for (const listener of this.#listeners) listener();
  }

  /** Have a record held, with those around it. */
  want(seq: number): Promise<void> {
    const [overview, ask] = [this.overview, this.ask];
    if (!overview || !ask || seq < 1 || seq > this.version || this.#holding(seq)) return Promise.resolve();
    const { after, until } = overview.around(seq, this.held.block);
    const asked = this.#asked.get(after);
    if (asked) return asked;
    const base = overview.baseAt(after);
    const coming = ask(after, until)
      .then(
        (frames) => this.#keep(base, frames),
        () => void setTimeout(() => this.#changed(), AGAIN_MS),
      )
      .finally(() => this.#asked.delete(after));
    this.#asked.set(after, coming);
    return coming;
  }

  #keep(base: Stretch['base'], frames: Frames): void {
    this.#names.learn(frames);
    const block = new Stretch(this.#names, base);
    block.append(frames);
    this.#blocks = [...this.#blocks.filter((one) => one.base.seq !== base.seq), block].slice(
      -this.held.blocks,
    );
    this.#changed();
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

  /** Take in a run that somebody asked about, of which nothing is held. */
  learn(bar: Bar): void {
    this.#learnt.set(bar.run, bar);
    this.#changed();
  }

  // What is held

  #all(): Stretch[] {
    return [...this.#blocks, this.#tail];
  }

  /** The stretch that has a record. */
  #holding(seq: number): Stretch | null {
    if (this.#tail.holds(seq)) return this.#tail;
    const at = this.#blocks.findIndex((one) => one.holds(seq));
    if (at < 0) return null;
    const [block] = this.#blocks.splice(at, 1);
    this.#blocks.push(block!);
    return block!;
  }

  holds(seq: number): boolean {
    return this.#holding(seq) !== null;
  }

  /** Whether it is known how things stood after a record. */
  has(seq: number): boolean {
    return this.#reaching(seq) !== null || (this.overview?.isEnd(seq) ?? seq <= this.version);
  }

  /** The record of which most is known that is nearest to one. */
  near(seq: number): number {
    return this.has(seq) ? seq : (this.overview?.near(seq) ?? seq);
  }

  #reaching(seq: number): Stretch | null {
    if (this.#tail.reaches(seq)) return this.#tail;
    return this.#holding(seq) ?? this.#blocks.find((one) => one.reaches(seq)) ?? null;
  }

  /** A stretch that knows how things stood after a record; or, where nobody does, at the last end before it. */
  #at(seq: number): Stretch {
    const found = this.#reaching(Math.min(seq, this.version));
    if (found || !this.overview) return found ?? this.#tail;
    const end = this.overview.endAtMost(seq);
    if (this.#end?.of !== this.overview || this.#end.here.base.seq !== end)
      this.#end = { of: this.overview, here: new Stretch(this.#names, this.overview.baseAt(end)) };
    return this.#end.here;
  }

  // Records

  /** The step of a record; empty where it is about none. */
  stepOf(seq: number): string {
    return this.#holding(seq)?.stepOf(seq) ?? this.overview?.worst(seq)?.step ?? '';
  }

  typeOf(seq: number): string {
    return this.#holding(seq)?.typeOf(seq) ?? this.overview?.worst(seq)?.type ?? '';
  }

  /** The time of a record, in milliseconds since 1970. */
  timeOf(seq: number): number {
    const known = Math.max(1, Math.min(seq, this.version));
    return this.#holding(known)?.timeOf(known) ?? this.overview?.timeOf(known) ?? 0;
  }

  markAt(seq: number): Mark | null {
    const holding = this.#holding(seq);
    return holding ? markOf(holding.flagOf(seq)) : (this.overview?.markAt(seq) ?? null);
  }

  flagOf(seq: number): number {
    return this.#holding(seq)?.flagOf(seq) ?? 0;
  }

  runOf(seq: number): number {
    return this.#holding(seq)?.runOf(seq) ?? 0;
  }

  /** What a record moved: place, ±n, place, ±n … */
  deltaOf(seq: number): readonly number[] {
    return this.#holding(seq)?.deltaOf(seq) ?? [];
  }

  /** The records that are marked; of what is not held, the worst of every bin. */
  get marked(): readonly number[] {
    if (!this.overview) return this.#tail.marked;
    const far = this.overview.marked.filter((one) => one.flag && one.seq <= this.tailAfter);
    return [...far.map((one) => one.seq), ...this.#tail.marked];
  }

  /** The last record at or before a moment; of what is not held, the last end of a bin. */
  seqAt(time: number): number {
    const held = this.#all().find(({ base, span }) => base.seq > 0 && time >= span.from && time < span.to);
    if (held) return held.seqAt(time);
    const isLate = this.isWhole || time >= this.#tail.span.from;
    return isLate ? this.#tail.seqAt(time) : (this.overview?.seqAt(time) ?? 1);
  }

  /** Moments in order between which nothing happened. */
  get moments(): readonly number[] {
    return this.overview ? [...this.overview.moments(this.tailAfter), ...this.#tail.at] : this.#tail.at;
  }

  /** The records about a step that are at the end, of which all are held. */
  recordsOf(step: string): readonly number[] {
    return this.#tail.recordsOf(step);
  }

  // How things stood

  /** How many tokens were in each place after a record, by the number of the place. */
  markingAt(seq: number): Int32Array {
    return this.#at(seq).markingAt(seq);
  }

  /** How many tokens had come into each place up to a record. */
  takenAt(seq: number): Int32Array {
    return this.#at(seq).takenAt(seq);
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

  stepAt(seq: number, step: string, marking: Int32Array = this.markingAt(seq)): StepFacts {
    let [active, ready] = [0, 0];
    for (const n of this.#names.placesOf(step)) {
      if (this.places[n]!.kind === 'running') active += marking[n] ?? 0;
      else ready += marking[n] ?? 0;
    }
    const own = this.#at(seq).countsAt(seq, step);
    const was = this.before(step);
    return {
      started: own.started + (was?.started ?? 0),
      done: own.done + (was?.done ?? 0),
      failed: own.failed + (was?.failed ?? 0),
      retries: own.retries + (was?.retries ?? 0),
      parts: own.parts + (was?.parts ?? 0),
      decided: own.decided + (was?.decided ?? 0),
      active,
      ready,
      last: own.last,
      lastFailed: own.last ? own.lastFailed : (was?.lastFailed ?? false),
    };
  }

  // Runs

  /** The runs at the end, of which all are held. */
  get bars(): readonly Bar[] {
    return this.#tail.bars;
  }

  /** The runs of a step of which something is held, in the order in which they began, and had begun by a record. */
  barsOf(step: string, seq: number = this.version): readonly Bar[] {
    if (this.isWhole) return this.#tail.barsOf(step).slice(0, this.begunBy(step, seq));
    const found = new Map<number, Bar>();
    for (const stretch of this.#all())
      for (const bar of stretch.barsOf(step)) {
        const isCut = !bar.last && stretch !== this.#tail;
        const one: Bar = isCut ? { ...bar, last: stretch.last, to: stretch.span.to, state: 'beyond' } : bar;
        if (bar.first <= seq) found.set(bar.run, joined(found.get(bar.run), one));
      }
    return [...found.values()].sort((a, b) => a.run - b.run);
  }

  /** When a step had runs of which nothing more is known. */
  bandsOf(step: string): readonly Band[] {
    return this.overview?.bandsOf(step) ?? [];
  }

  /** The stretches of which all is held, and whether a step had runs in each that neither began nor ended there. */
  exact(step: string): { from: number; to: number; isThroughout: boolean }[] {
    if (this.isWhole) return [];
    return this.#all().map((one) => ({ ...one.span, isThroughout: one.throughout(step) > 0 }));
  }

  /** How many runs of a step had begun by a record. */
  begunBy(step: string, seq: number): number {
    if (this.isWhole) return countAtMost(this.#tail.barsOf(step), seq, (bar) => bar.first);
    return this.#at(seq).countsAt(seq, step).started;
  }

  /** The run of a step that had begun last by a record. */
  lastBar(step: string, seq: number): Bar | undefined {
    return this.#at(seq).lastBar(step, seq);
  }

  /** The steps that have runs, in the order in which they first began. */
  get ran(): Iterable<string> {
    return new Set([...(this.overview?.ran ?? []), ...this.#tail.ran]);
  }

  barOf(run: number): Bar | undefined {
    for (const stretch of this.#all().reverse()) {
      const bar = stretch.barOf(run);
      if (bar && (bar.last || stretch === this.#tail)) return bar;
    }
    return this.#learnt.get(run);
  }

  /** Whether a part of a run failed, as far as is known here. */
  isInPart(run: number): boolean {
    return this.#all().some((stretch) => stretch.inPart.has(run));
  }

  /** The next record, in a direction, among some; null where there is none. */
  static next(among: readonly number[], seq: number, direction: 1 | -1): number | null {
    if (direction > 0) return among[lastAtMost(among, seq) + 1] ?? null;
    return among[lastAtMost(among, seq - 1)] ?? null;
  }
}

/** What two stretches know of one run: its beginning, where one has that, and its end. */
function joined(one: Bar | undefined, other: Bar): Bar {
  if (!one) return other;
  const [early, late] = one.first <= other.first ? [one, other] : [other, one];
  const end = late.state === 'beyond' ? early : late;
  return { ...end, first: early.first, from: early.from };
}

/** The name of the arc at whose end a place is; null where it is at the end of none. */
export function arcName(place: Place): string | null {
  return place.arc ? `${place.arc[0]}/${place.arc[1]}>${place.step}` : null;
}
