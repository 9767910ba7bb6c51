/** Playing a story: real time, faster, with idle gaps cut; and a scale of time on which gaps are folded. */
import type { StoryStore } from './store';

export const GAP_MS = 500;

/** How long to wait before the next record is shown; at no speed all wait alike, whenever they were. */
export function beat(story: StoryStore, seq: number, speed: number): number {
  if (!speed) return GAP_MS;
  const gap = story.timeOf(seq + 1) - story.timeOf(seq);
  return Math.min(GAP_MS, Math.max(0, gap) / speed);
}

/** What happened between idle stretches may take less than a millisecond, and fills what they leave. */
const LEAST_MS = 1e-3;

export interface Fold {
  from: number;
  to: number;
}

/** A scale from time to 0…1 on which idle stretches longer than a share of all take little room. */
export class FoldedTime {
  readonly folds: Fold[] = [];
  readonly start: number;
  readonly end: number;
  #shown: number;
  #each: number;

  constructor(times: readonly number[], end: number, share = 0.05) {
    this.start = times[0] ?? 0;
    this.end = Math.max(end, times.at(-1) ?? 0, this.start + 1);
    const long = Math.max(1000, (this.end - this.start) * share);
    let before = this.start;
    const pass = (time: number) => {
      if (time - before > long) this.folds.push({ from: before, to: time });
      before = time;
    };
    for (const time of times) pass(time);
    pass(this.end);
    const folded = this.folds.reduce((sum, fold) => sum + (fold.to - fold.from), 0);
    const open = this.end - this.start - folded;
    this.#each = Math.max(open, LEAST_MS) * 0.06;
    this.#shown = open + this.folds.length * this.#each || LEAST_MS;
  }

  /** Where a moment is, from 0 to 1. */
  at(time: number): number {
    if (!this.folds.length) return Math.max(0, Math.min(1, (time - this.start) / this.#shown));
    const kept = Math.max(this.start, Math.min(this.end, time));
    let shown = kept - this.start;
    for (const fold of this.folds) {
      if (kept >= fold.to) shown += this.#each - (fold.to - fold.from);
      else if (kept > fold.from)
        shown += ((kept - fold.from) / (fold.to - fold.from)) * this.#each - (kept - fold.from);
    }
    return Math.max(0, Math.min(1, shown / this.#shown));
  }

  /** Which moment is there. */
  time(share: number): number {
    let left = Math.max(0, Math.min(1, share)) * this.#shown;
    let at = this.start;
    for (const fold of this.folds) {
      const open = fold.from - at;
      if (left <= open) return at + left;
      left -= open;
      if (left <= this.#each) return fold.from + (left / this.#each) * (fold.to - fold.from);
      left -= this.#each;
      at = fold.to;
    }
    return Math.min(this.end, at + left);
  }
}
