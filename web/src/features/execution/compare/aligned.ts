/** Two stories on one track: which record of each is shown at a place of it. */

export interface Pair {
  left: number;
  right: number;
}

/**
 * All places of the track, in order. Between two corners both go on evenly; behind the last one whoever has more
 * records goes on alone.
 */
export function placesOf(corners: readonly (readonly number[])[], left: number, right: number): Pair[] {
  const places: Pair[] = [];
  const add = (pair: Pair) => {
    const last = places.at(-1);
    if (last?.left !== pair.left || last.right !== pair.right) places.push(pair);
  };
  corners.forEach(([l = 1, r = 1], n) => {
    const [l0 = 1, r0 = 1] = corners[n - 1] ?? [l, r];
    const steps = Math.max(1, l - l0, r - r0);
    for (let k = 1; k <= steps; k++) {
      add({
        left: Math.min(left, Math.round(l0 + ((l - l0) * k) / steps)),
        right: Math.min(right, Math.round(r0 + ((r - r0) * k) / steps)),
      });
    }
  });
  if (!places.length) add({ left: Math.min(1, left), right: Math.min(1, right) });
  for (let end = places.at(-1)!; end.left < left || end.right < right; end = places.at(-1)!) {
    add({ left: Math.min(left, end.left + 1), right: Math.min(right, end.right + 1) });
  }
  return places;
}

/** The first place at which a record of one side is shown; -1 where it never is. */
export function placeOfRecord(places: readonly Pair[], side: keyof Pair, seq: number): number {
  return places.findIndex((pair) => pair[side] >= seq);
}

const SENSE: Record<string, string> = {
  E0: 'the same events in the same order',
  E1: 'the same but for the order of what does not depend on each other',
  E2: 'the same outcome by other ways',
  E3: 'the same data in the same places',
  different: 'another outcome',
};

/** In what sense two executions are the same, in words. */
export function senseOf(equivalence: string): string {
  const words = SENSE[equivalence] ?? equivalence;
  return equivalence.startsWith('E') ? `${words} (${equivalence})` : words;
}
