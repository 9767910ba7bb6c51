/** How much of a story a page holds. */

export interface Held {
  /** A story of so many records is held whole; of a longer one an overview is, its end, and what is looked at. */
  records: number;
  /** So many records are fetched around one that is looked at, and kept at the end. */
  block: number;
  /** So many of those are kept; the one that was looked at longest ago makes room. */
  blocks: number;
  /** So many bins an overview has at most. */
  bins: number;
}

const RECORDS = 200_000;
const LEAST = 64;

/** What is held, for a number of records; each part is a share of that. */
export function heldOf(records: number): Held {
  return {
    records,
    block: Math.max(LEAST, Math.floor(records / 24)),
    blocks: 8,
    bins: Math.max(2, Math.min(2000, Math.floor(records / 4))),
  };
}

/** Who has little memory says so: `localStorage['petra.held'] = '20000'`. */
export function heldHere(): Held {
  const said = Number(globalThis.localStorage?.getItem('petra.held'));
  return heldOf(Number.isInteger(said) && said >= LEAST ? said : RECORDS);
}
