/** What the server says of a text, as the editor shows it: from where to where, and how it is mended. */
import type { Finding } from '../../api/authoring';

export type Fix = Finding['fixes'][number];

export interface Span {
  from: number;
  to: number;
}

/** Places of a text: lines and columns from 1, as the server counts them; offsets from 0, as the editor does. */
export class Places {
  readonly #starts: number[] = [0];
  readonly #length: number;

  constructor(text: string) {
    for (let n = text.indexOf('\n'); n >= 0; n = text.indexOf('\n', n + 1)) this.#starts.push(n + 1);
    this.#length = text.length;
  }

  /** The offset of a place; what lies outside the text is moved to its nearest end. */
  at(line: number, column: number): number {
    const row = Math.min(Math.max(1, line), this.#starts.length);
    const start = this.#starts[row - 1] ?? 0;
    const end = row < this.#starts.length ? (this.#starts[row] ?? 0) - 1 : this.#length;
    return Math.min(Math.max(start, start + column - 1), end);
  }

  /** The line of an offset, and its column. */
  of(offset: number): { line: number; column: number } {
    let [low, high] = [0, this.#starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (this.#starts[low] ?? 0) + 1 };
  }
}

/** Where a problem stands; one that says no end is one character long. */
export function spanOf(found: Finding, places: Places): Span {
  const from = places.at(found.line, found.column);
  const to = found.end_line ? places.at(found.end_line, found.end_column ?? found.column) : from + 1;
  return { from, to: Math.max(to, from) };
}

/** What a fix changes: from where to where, never backwards. */
export function fixed(fix: Fix, places: Places): Span {
  const from = places.at(fix.line, fix.column);
  return { from, to: Math.max(from, places.at(fix.end_line, fix.end_column)) };
}

/** A text with a fix in it. */
export function mended(text: string, fix: Fix): string {
  const { from, to } = fixed(fix, new Places(text));
  return text.slice(0, from) + fix.text + text.slice(to);
}

/** Why a text cannot be applied; null where it can. */
export function hindered(problems: readonly Finding[], changed: boolean): string | null {
  const errors = problems.filter((one) => one.severity === 'error').length;
  if (errors) return `${errors} ${errors === 1 ? 'error' : 'errors'}`;
  return changed ? null : 'nothing has changed';
}

/** The worst problem of each step. What stands at the margin is of the document, wherever it stands. */
export function troubled(
  problems: readonly Finding[],
  steps: readonly { step: string; line: number }[],
): ReadonlyMap<string, Finding> {
  const found = new Map<string, Finding>();
  for (const one of problems) {
    const step = one.column > 1 ? stepAt(steps, one.line) : null;
    if (step && (!found.has(step) || one.severity === 'error')) found.set(step, one);
  }
  return found;
}

/** The step that a line belongs to: the last that begins before it. */
export function stepAt(steps: readonly { step: string; line: number }[], line: number): string | null {
  let best: { step: string; line: number } | null = null;
  for (const one of steps) if (one.line <= line && (!best || one.line > best.line)) best = one;
  return best?.step ?? null;
}
