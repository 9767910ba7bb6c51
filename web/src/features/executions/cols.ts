/** The columns that a person may choose, and what the address says of them. */
import { recalled, remember } from '../../kit/memory';

export const COLS = ['id', 'now', 'took', 'updated', 'started', 'ended', 'key', 'labels'] as const;
export type Col = (typeof COLS)[number];
const USUAL: readonly Col[] = ['id', 'now', 'took', 'updated', 'started'];
/** What a phone has room for. */
const FEW: readonly Col[] = ['now'];

/** Those of some words that are columns, in their order. */
export function colsIn(words: readonly string[]): Col[] {
  return COLS.filter((one) => words.includes(one));
}

/** The columns that are shown: as the address says, else as they were last chosen here; on a phone few. */
export function shownCols(said: readonly Col[] | undefined, isNarrow: boolean): readonly Col[] {
  const kept = colsIn((recalled('cols') ?? '').split(','));
  if (said) return said;
  if (isNarrow) return FEW;
  return kept.length ? kept : USUAL;
}

/** Show a column, or no more; the last one stays. This browser remembers it. */
export function turned(shown: readonly Col[], col: Col): Col[] {
  const next = COLS.filter((one) => (one === col) !== shown.includes(one));
  const kept = next.length ? next : [...shown];
  remember('cols', kept.join(','));
  return kept;
}
