import { type Raw, whole } from '../../kit/search';

export interface EditorSearch {
  line?: number;
}

export function editorSearch(raw: Raw): EditorSearch {
  return { line: whole(raw, 'line') };
}
