/** What an execution is started with: a JSON object, typed as such or filled in as a form; and the labels. */
import type { Json } from '../../api/shapes';

export type Values = { [key: string]: Json };

export function workloadOf(text: string): Values | null {
  try {
    const found = JSON.parse(text) as Json;
    return found !== null && typeof found === 'object' && !Array.isArray(found) ? found : null;
  } catch {
    return null;
  }
}

/** Labels as they are typed: `env=prod team=shop`. */
export function labelsOf(text: string): Record<string, string> {
  const pairs = text.split(/\s+/).filter((word) => word.includes('='));
  return Object.fromEntries(
    pairs.map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]),
  );
}

/** What was filled in and not yet sent, as the browser keeps it. */
export interface Draft {
  text: string;
  label: string;
}

export function draftOf(kept: string | null): Draft | null {
  try {
    const found = JSON.parse(kept ?? '') as Partial<Draft> | null;
    if (typeof found?.text !== 'string') return null;
    return { text: found.text, label: typeof found.label === 'string' ? found.label : '' };
  } catch {
    return null;
  }
}
