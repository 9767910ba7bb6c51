/** All iterations of a loop in columns of bytes, and where each of them is drawn. */
import type { IterationMap } from '../api/shapes';
import type { Token } from '../kit';
import { duration } from '../kit/format';

export interface Turns {
  count: number;
  state: Uint8Array;
  /** The logarithm of the duration, as the server shades it. */
  shade: Uint16Array;
  first: Uint32Array;
  last: Uint32Array;
  /** Of a nested loop: how many iterations each of the outer ones has. */
  rows: readonly number[];
}

export const STATES = ['to_go', 'in_flight', 'ok', 'failed', 'cancelled'] as const;
export const TOKENS: readonly Token[] = ['idle', 'running', 'done', 'failed', 'idle'];
const SHADE = 2048;
const BINS_FROM = 20_000;

function bytes(text: string): ArrayBuffer {
  const raw = atob(text);
  const found = new Uint8Array(raw.length);
  for (let n = 0; n < raw.length; n++) found[n] = raw.charCodeAt(n);
  return found.buffer;
}

export function unpacked(map: IterationMap): Turns {
  return {
    count: map.count,
    state: new Uint8Array(bytes(map.state)),
    shade: new Uint16Array(bytes(map.ms)),
    first: new Uint32Array(bytes(map.first)),
    last: new Uint32Array(bytes(map.last)),
    rows: map.rows ?? [],
  };
}

export function msOf(shade: number): number {
  return 2 ** (shade / SHADE) - 1;
}

/** The state of an iteration at a record: what had not ended by then was in flight, what had not begun was to go. */
export function stateAt(turns: Turns, n: number, seq: number): number {
  const [first, last] = [turns.first[n] ?? 0, turns.last[n] ?? 0];
  if (first === 0 || first > seq) return 0;
  if (last === 0 || last > seq) return 1;
  return turns.state[n] ?? 0;
}

const WORST = [0, 2, 1, 4, 3]; // the order in which the state of a bin is chosen: failed before all

export interface Cells {
  /** How many iterations a cell stands for. */
  each: number;
  state: Uint8Array;
  shade: Float32Array;
}

/** The cells of a map; of very many iterations, bins with the worst state of each. */
export function cellsOf(turns: Turns, seq: number): Cells {
  let each = 1;
  while (turns.count / each > BINS_FROM) each *= 2;
  const count = Math.ceil(turns.count / each);
  const state = new Uint8Array(count);
  const shade = new Float32Array(count);
  let most = 1;
  for (let n = 0; n < turns.count; n++) most = Math.max(most, turns.shade[n] ?? 0);
  for (let n = 0; n < turns.count; n++) {
    const cell = Math.floor(n / each);
    const now = stateAt(turns, n, seq);
    if (n % each === 0 || WORST.indexOf(now) > WORST.indexOf(state[cell]!)) state[cell] = now;
    shade[cell] = Math.max(shade[cell] ?? 0, (turns.shade[n] ?? 0) / most);
  }
  return { each, state, shade };
}

/** Where the cells stand: how large one is, and for each the column and the line. */
export interface Grid {
  size: number;
  /** Room on the left for the numbers of the outer iterations. */
  indent: number;
  width: number;
  lines: number;
  column: Int32Array;
  line: Int32Array;
  /** The line on which each outer iteration begins. */
  begins: number[];
}

const SIZES = [14, 12, 10, 8, 6, 5, 4, 3];
const HIGHEST = 220;
const INDENT = 36;

/** Lay cells out: in the order of their indices, an outer iteration on lines of its own; as large as fits. */
export function gridOf(count: number, rows: readonly number[], width: number): Grid {
  const isNested = rows.length > 0 && rows.reduce((sum, one) => sum + one, 0) === count;
  const parts = isNested ? rows : [count];
  const indent = isNested ? INDENT : 0;
  const linesOf = (across: number) =>
    parts.reduce((sum, part) => sum + Math.max(1, Math.ceil(part / across)), 0);
  const acrossOf = (size: number) => Math.max(1, Math.floor((width - indent) / size));
  const size = SIZES.find((one) => linesOf(acrossOf(one)) * one <= HIGHEST) ?? SIZES.at(-1)!;
  const across = acrossOf(size);
  const grid: Grid = {
    size,
    indent,
    width: indent + across * size,
    lines: linesOf(across),
    column: new Int32Array(count),
    line: new Int32Array(count),
    begins: [],
  };
  let [n, line] = [0, 0];
  for (const part of parts) {
    grid.begins.push(line);
    for (let k = 0; k < part; k++, n++) {
      grid.column[n] = k % across;
      grid.line[n] = line + Math.floor(k / across);
    }
    line += Math.max(1, Math.ceil(part / across));
  }
  return grid;
}

/** The cell at a column and a line; -1 where there is none. */
export function cellAt(grid: Grid, column: number, line: number): number {
  let [low, high] = [0, grid.line.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const at = grid.line[middle]!;
    if (at < line || (at === line && grid.column[middle]! < column)) low = middle + 1;
    else high = middle;
  }
  return grid.line[low] === line && grid.column[low] === column ? low : -1;
}

/** The cell that an arrow key leads to; the same where there is none. */
export function cellBeside(grid: Grid, cell: number, key: string): number {
  const last = grid.line.length - 1;
  if (cell < 0) return Math.min(0, last);
  if (key === 'ArrowLeft') return Math.max(0, cell - 1);
  if (key === 'ArrowRight') return Math.min(last, cell + 1);
  const line = grid.line[cell]! + (key === 'ArrowDown' ? 1 : -1);
  for (let column = grid.column[cell]!; column >= 0; column--) {
    const found = cellAt(grid, column, line);
    if (found >= 0) return found;
  }
  return cell;
}

export interface Tally {
  counts: number[];
  p50: number | null;
  p95: number | null;
}

export function tallyOf(turns: Turns, seq: number): Tally {
  const counts = [0, 0, 0, 0, 0];
  const times: number[] = [];
  for (let n = 0; n < turns.count; n++) {
    const state = stateAt(turns, n, seq);
    counts[state] = (counts[state] ?? 0) + 1;
    if (state === 2 || state === 3) times.push(turns.shade[n] ?? 0);
  }
  times.sort((a, b) => a - b);
  const at = (share: number) =>
    times.length ? msOf(times[Math.min(times.length - 1, Math.floor(times.length * share))]!) : null;
  return { counts, p50: at(0.5), p95: at(0.95) };
}

/** The next iteration that is looked for, round the end; -1 where there is none. */
function nextOf(turns: Turns, from: number, isIt: (n: number) => boolean): number {
  for (let step = 1; step <= turns.count; step++) {
    const n = (from + step) % turns.count;
    if (isIt(n)) return n;
  }
  return -1;
}

/** The next iteration in a state. */
export function nextIn(turns: Turns, seq: number, from: number, wanted: number): number {
  return nextOf(turns, from, (n) => stateAt(turns, n, seq) === wanted);
}

/** The next one that had ended by a record and took so many milliseconds or more. */
export function nextSlow(turns: Turns, seq: number, from: number, ms: number): number {
  return nextOf(turns, from, (n) => stateAt(turns, n, seq) > 1 && msOf(turns.shade[n] ?? 0) >= ms);
}

/** What a cell is, in words: of one iteration its state and how long it took; of several, which they are. */
export function cellInWords(turns: Turns, { each, state }: Cells, cell: number, seq: number): string {
  const from = cell * each;
  const word = (STATES[state[cell] ?? 0] ?? '').replace('_', ' ');
  if (each > 1) return `${from} to ${Math.min(turns.count, from + each) - 1}: ${word} at worst`;
  const isOver = stateAt(turns, from, seq) > 1;
  return `${from}: ${word}${isOver ? `, ${duration(msOf(turns.shade[from] ?? 0))}` : ''}`;
}
