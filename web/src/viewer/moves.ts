/** What moves on the graph when the story goes on: tokens along arcs. */
import { arcName, type StoryStore } from '../story/store';

export interface Move {
  /** The arc, as `from/index>to`. */
  arc: string;
  tokens: number;
}

/** More than so many at once are no beads any more: their arcs light up. */
export const BEADS_MAX = 30;
/** A jump farther than this is no playing. */
const STEPS_MAX = 50;

/** The tokens that came along arcs from one record to a later one; none of a jump, or back. */
export function movesBetween(story: StoryStore, from: number, to: number): Move[] {
  if (from < 1 || to <= from || to - from > STEPS_MAX) return [];
  const moved = new Map<string, number>();
  for (let seq = from + 1; seq <= to; seq++) {
    const delta = story.deltaOf(seq);
    for (let n = 0; n < delta.length; n += 2) {
      const [place, count] = [story.places[delta[n]!], delta[n + 1]!];
      const arc = place && count > 0 ? arcName(place) : null;
      if (!arc) continue;
      moved.set(arc, (moved.get(arc) ?? 0) + count);
    }
  }
  return [...moved].map(([arc, tokens]) => ({ arc, tokens }));
}

/** Places along a line of points, each with its share of the way. */
export function wayOf(
  points: readonly (readonly [number, number])[],
): { at: number; x: number; y: number }[] {
  const lengths = points.map(([x, y], n) => {
    const [fromX, fromY] = points[n - 1] ?? [x, y];
    return Math.hypot(x - fromX, y - fromY);
  });
  const total = lengths.reduce((sum, one) => sum + one, 0) || 1;
  let gone = 0;
  return points.map(([x, y], n) => {
    gone += lengths[n] ?? 0;
    return { at: n === points.length - 1 ? 1 : Math.min(1, gone / total), x, y };
  });
}
