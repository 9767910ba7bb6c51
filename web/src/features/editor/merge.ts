/** Three texts made one: what I changed and what somebody else changed, both since the same base. Line by line. */
import { diff } from '@codemirror/merge';

export interface Merged {
  text: string;
  /** How often both changed the same place, differently; such places stand in the text with both. */
  conflicts: number;
}

/** Lines `from` to `to` of the base became lines `start` to `end` of a text. */
interface Hunk {
  from: number;
  to: number;
  start: number;
  end: number;
}

const FIRST_SURROGATE = 0xd800;

/** Number lines, the same line the same number, and write a text as one character per line. */
class Alphabet {
  readonly #letters = new Map<string, string>();

  of(lines: readonly string[]): string {
    return lines.map((line) => this.#letter(line)).join('');
  }

  #letter(line: string): string {
    const known = this.#letters.get(line);
    if (known) return known;
    if (this.#letters.size + 1 >= FIRST_SURROGATE)
      throw new Error('the texts have too many lines to be merged');
    const made = String.fromCharCode(this.#letters.size + 1);
    this.#letters.set(line, made);
    return made;
  }
}

function lines(text: string): string[] {
  return text.split(/(?<=\n)/);
}

function hunks(base: string, other: string): Hunk[] {
  return diff(base, other).map((one) => ({ from: one.fromA, to: one.toA, start: one.fromB, end: one.toB }));
}

/** The lines of a side that stand for lines `from` to `to` of the base. */
function told(side: readonly string[], own: readonly Hunk[], from: number, to: number): string {
  const first = own[0];
  const last = own.at(-1);
  if (!first || !last) return '';
  return side.slice(first.start - (first.from - from), last.end + (to - last.to)).join('');
}

function ended(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

function both(mine: string, theirs: string): string {
  return `<<<<<<< mine\n${ended(mine)}=======\n${ended(theirs)}>>>>>>> theirs\n`;
}

export function merged(base: string, mine: string, theirs: string): Merged {
  const [b, m, t] = [lines(base), lines(mine), lines(theirs)];
  const letters = new Alphabet();
  const written = letters.of(b);
  const left = hunks(written, letters.of(m));
  const right = hunks(written, letters.of(t));
  let [text, at, conflicts] = ['', 0, 0];
  while (left.length || right.length) {
    const own: Hunk[] = [];
    const other: Hunk[] = [];
    const from = Math.min(left[0]?.from ?? b.length, right[0]?.from ?? b.length);
    let to = from;
    // what touches belongs together, from whichever side it comes
    for (;;) {
      const side = [left, right].find((one) => one[0] && one[0].from <= to);
      const next = side?.shift();
      if (!next) break;
      (side === left ? own : other).push(next);
      to = Math.max(to, next.to);
    }
    text += b.slice(at, from).join('');
    at = to;
    const [ours, others] = [told(m, own, from, to), told(t, other, from, to)];
    if (!other.length) text += ours;
    else if (!own.length || ours === others) text += others;
    else {
      text = ended(text) + both(ours, others);
      conflicts += 1;
    }
  }
  return { text: text + b.slice(at).join(''), conflicts };
}
