/** All iterations of a loop in columns of bytes, and where each of them is drawn. */
import type { IterationMap } from '../../../api/shapes';
import type { Token } from '../../../kit';

export interface Turns {
  count: number;
  state: Uint8Array;
  /** The logarithm of the duration, as the server shades it. */
  shade: Uint16Array;
  first: Uint32Array;
  last: Uint32Array;
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

/** The next iteration in a state, round the end; -1 where there is none. */
export function nextIn(turns: Turns, seq: number, from: number, wanted: number): number {
  for (let step = 1; step <= turns.count; step++) {
    const n = (from + step) % turns.count;
    if (stateAt(turns, n, seq) === wanted) return n;
  }
  return -1;
}
