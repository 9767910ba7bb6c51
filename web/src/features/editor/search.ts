import { oneOf, type Raw, text, whole } from '../../kit/search';

export const PANELS = ['proof', 'tests', 'simulate', 'diff'] as const;
export type Panel = (typeof PANELS)[number];

export interface EditorSearch {
  line?: number;
  panel?: Panel;
  case?: string;
  at?: number;
  /** Nothing is there yet: it is to be written. */
  new?: 'yes';
}

export function editorSearch(raw: Raw): EditorSearch {
  return {
    line: whole(raw, 'line'),
    panel: oneOf(raw, 'panel', PANELS),
    case: text(raw, 'case'),
    at: whole(raw, 'at', 0),
    new: oneOf(raw, 'new', ['yes']),
  };
}
