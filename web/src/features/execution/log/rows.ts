/** Which records the log shows: by what they are about, never by what mentions it. */
import type { EventItem } from '../../../api/shapes';
import type { Sel } from '../../../story/sel';
import { isWanted, recordsOfSel, wantedOfSel } from '../../../story/select';
import { lastAtMost, type StoryStore } from '../../../story/store';

export type Level = 'important' | 'all';

/** What the rows are about; what no record is asked for by shows all of them. */
export function aboutInWords(sel: Sel | null): string {
  switch (sel?.kind) {
    case 'step':
      return `step ${sel.step}`;
    case 'place':
      return `place ${sel.place}`;
    case 'run':
    case 'iter':
      return `run ${sel.run}`;
    case 'arc':
      return `arc ${sel.index + 1} of ${sel.from}`;
    case 'ctx':
      return `ctx.${sel.key}`;
    default:
      return 'everything';
  }
}

const BETWEEN = /^[\s;,:]+/;

/** What a record says beside its type and its step, which have columns of their own. */
export function saidOf({ type, step, text }: Pick<EventItem, 'type' | 'step' | 'text'>): string {
  const said = text.replace(type, '').replace(BETWEEN, '');
  const rest = step && said.startsWith(step) ? said.slice(step.length) : said;
  return /^[\s;,:]|^$/.test(rest) ? rest.replace(BETWEEN, '') : said;
}

export const CHUNK = 200;

export function chunkOf(seq: number): number {
  return Math.floor((seq - 1) / CHUNK);
}

const IMPORTANT = new Set([
  'execution.started',
  'execution.forked',
  'step.done',
  'step.failed',
  'loop.done',
  'incident.raised',
  'group.changed',
  'group.timed_out',
  'ctx.patched',
  'signal.received',
  'workitem.changed',
  'act.refused',
  'execution.paused',
  'execution.resumed',
  'execution.ending',
  'execution.stuck',
  'execution.ended',
  'execution.migrated',
]);

export function isImportant(story: StoryStore, seq: number): boolean {
  return story.flagOf(seq) !== 0 || IMPORTANT.has(story.typeOf(seq));
}

/** The records of a selection, of a story that is held whole; a single record stands among all others. */
export function shownRecords(story: StoryStore, sel: Sel | null, level: Level): number[] {
  const among = wantedOfSel(story, sel)
    ? recordsOfSel(story, sel)
    : Array.from({ length: story.version }, (_, n) => n + 1);
  if (level === 'all') return [...among];
  const kept = sel?.kind === 'rec' ? sel.seq : 0;
  return among.filter((seq) => seq === kept || isImportant(story, seq));
}

/** The records of a selection; of one of which none is important all of them, which is better than nothing. */
export function toldRecords(story: StoryStore, sel: Sel | null, level: Level): number[] {
  const shown = shownRecords(story, sel, level);
  return shown.length || !wantedOfSel(story, sel) ? shown : shownRecords(story, sel, 'all');
}

/** Rows of the log: how many, which record each is, and where one stands. */
export interface LogRows {
  readonly length: number;
  /** The record of a row; undefined where it is not held. */
  at(n: number): number | undefined;
  /** The last row that is not behind a record; -1 where all are. */
  upTo(seq: number): number;
  /** A record that has to be held for a row to be shown. */
  neededFor(n: number): number | null;
}

/** Rows that are all known. */
export function knownRows(seqs: readonly number[]): LogRows {
  return {
    length: seqs.length,
    at: (n) => seqs[n],
    upTo: (seq) => lastAtMost(seqs, seq),
    neededFor: (n) => seqs[n] ?? null,
  };
}

/** Which records of a stretch are shown, as what is held of them tells. */
export function heldRecords(
  story: StoryStore,
  { after, until }: { after: number; until: number },
  sel: Sel | null,
  level: Level,
): number[] {
  const wanted = wantedOfSel(story, sel);
  const found: number[] = [];
  for (let seq = after + 1; seq <= until; seq++)
    if ((level === 'all' || isImportant(story, seq)) && isWanted(story, wanted, seq)) found.push(seq);
  return found;
}

/** Rows of a story that is not held whole: how many there are in every stretch is known, those of some are held. */
export class CountedRows implements LogRows {
  #ends: number[] = [];
  #kept = new Map<number, number[]>();
  #tail: number[];

  constructor(
    private readonly story: StoryStore,
    private readonly sel: Sel | null,
    private readonly level: Level,
    private readonly told: { size: number; counts: readonly number[] },
  ) {
    let sum = 0;
    for (const count of told.counts) {
      sum += count;
      this.#ends.push(sum);
    }
    this.#tail = heldRecords(story, { after: this.#far, until: story.version }, sel, level);
  }

  /** Up to this record rows are counted; those behind it are all held. */
  get #far(): number {
    return this.story.tailAfter;
  }

  get #counted(): number {
    return this.#ends.at(-1) ?? 0;
  }

  get length(): number {
    return this.#counted + this.#tail.length;
  }

  at(n: number): number | undefined {
    if (n >= this.#counted) return this.#tail[n - this.#counted];
    const stretch = lastAtMost(this.#ends, n) + 1;
    return this.#in(stretch)?.[n - (this.#ends[stretch - 1] ?? 0)];
  }

  upTo(seq: number): number {
    if (seq > this.#far) return this.#counted + lastAtMost(this.#tail, seq);
    const stretch = Math.floor((seq - 1) / this.told.size);
    const before = this.#ends[stretch - 1] ?? 0;
    const inside = this.#in(stretch);
    return before + (inside ? lastAtMost(inside, seq) : 0);
  }

  neededFor(n: number): number | null {
    if (n >= this.#counted) return null;
    return (lastAtMost(this.#ends, n) + 1) * this.told.size + 1;
  }

  /** The rows of a stretch; null where it is not held. */
  #in(stretch: number): number[] | null {
    const kept = this.#kept.get(stretch);
    if (kept) return kept;
    const after = stretch * this.told.size;
    const until = Math.min(after + this.told.size, this.#far);
    if (!this.story.holds(after + 1) || !this.story.holds(until)) return null;
    const found = heldRecords(this.story, { after, until }, this.sel, this.level);
    this.#kept.set(stretch, found);
    return found;
  }
}

/** So many records of one kind on end stand in one row. */
export const FOLD_MIN = 4;
/** Of more rows than this none is looked at for it: they may be others ten times a second. */
export const FOLDED_MAX = 20_000;

/** Iterations begin and end by turns: they are of one kind. */
const TURNS = 'loop.iterations';

export function kindOf(type: string): string {
  return type.startsWith(`${TURNS}.`) ? TURNS : type;
}

/** A row that stands for several records. */
export interface Fold {
  count: number;
  last: number;
}

/** Rows in which records of one kind and step that follow each other stand as one, unless one is marked, or wants to be seen. */
export class FoldedRows implements LogRows {
  readonly folds = new Map<number, Fold>();
  #rows: number[] = [];

  constructor(
    story: StoryStore,
    readonly seqs: readonly number[],
    open: ReadonlySet<number>,
    shown: number,
  ) {
    for (let from = 0; from < seqs.length; ) {
      const until = runEnd(story, seqs, from);
      const first = seqs[from]!;
      const last = seqs[until - 1]!;
      const isFold = until - from >= FOLD_MIN && !open.has(first) && !(shown > first && shown <= last);
      if (isFold) this.folds.set(first, { count: until - from, last });
      for (const seq of isFold ? [first] : seqs.slice(from, until)) this.#rows.push(seq);
      from = until;
    }
  }

  get length(): number {
    return this.#rows.length;
  }

  at(n: number): number | undefined {
    return this.#rows[n];
  }

  upTo(seq: number): number {
    return lastAtMost(this.#rows, seq);
  }

  neededFor(n: number): number | null {
    return this.#rows[n] ?? null;
  }
}

/** Where the records of one kind that begin at a place end. */
function runEnd(story: StoryStore, seqs: readonly number[], from: number): number {
  const [kind, step] = [kindOf(story.typeOf(seqs[from]!)), story.stepOf(seqs[from]!)];
  if (story.flagOf(seqs[from]!)) return from + 1;
  let end = from + 1;
  while (end < seqs.length) {
    const seq = seqs[end]!;
    if (story.flagOf(seq) || kindOf(story.typeOf(seq)) !== kind || story.stepOf(seq) !== step) break;
    end += 1;
  }
  return end;
}
