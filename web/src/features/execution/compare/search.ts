import { type Raw, text, whole } from '../../../kit/search';
import { readSel, writeSel } from '../../../story/sel';

export interface CompareSearch {
  /** The place on the track that both share; absent is the first difference. */
  at?: number;
  sel?: string;
}

export function compareSearch(raw: Raw): CompareSearch {
  const sel = readSel(text(raw, 'sel'));
  return { at: whole(raw, 'at'), sel: sel ? writeSel(sel) : undefined };
}
