/** The stretch of the timeline that is looked at, and how it is changed. */

export interface TimeSpan {
  /** Milliseconds from the start of the story. */
  from: number;
  to: number;
}

const LEAST = 1;

/** Read a stretch of the address, `from..to`; null where it is none. */
export function readSpan(text: string | undefined): TimeSpan | null {
  const found = /^(\d{1,13})\.\.(\d{1,13})$/.exec(text ?? '');
  if (!found) return null;
  const [from, to] = [Number(found[1]), Number(found[2])];
  return to > from ? { from, to } : null;
}

export function writeSpan({ from, to }: TimeSpan): string {
  return `${Math.floor(from)}..${Math.max(Math.floor(from) + LEAST, Math.ceil(to))}`;
}

/** A window on 0…1: what is shown of all. */
export interface Window {
  from: number;
  to: number;
}

export const ALL: Window = { from: 0, to: 1 };
const NARROWEST = 1e-5;

/** Show more or less, with what is under the pointer staying there; null where that is all of it. */
export function zoomed(window: Window, at: number, by: number): Window | null {
  const width = Math.max(NARROWEST, (window.to - window.from) * by);
  if (width >= 1) return null;
  const middle = window.from + at * (window.to - window.from);
  return shifted({ from: middle - at * width, to: middle + (1 - at) * width }, 0);
}

/** Move along, not beyond the ends. */
export function shifted(window: Window, by: number): Window {
  const width = window.to - window.from;
  const from = Math.max(0, Math.min(1 - width, window.from + by));
  return { from, to: from + width };
}

/** Where a share of all is within a window. */
export function within(window: Window, share: number): number {
  return (share - window.from) / (window.to - window.from);
}

export function without(window: Window, share: number): number {
  return window.from + share * (window.to - window.from);
}
