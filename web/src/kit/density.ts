/** How close things stand: compact, or cosy. */
import { useSyncExternalStore } from 'react';
import { recalled, remember } from './memory';

export type Density = 'compact' | 'cosy';
const listeners = new Set<() => void>();

export function density(): Density {
  return recalled('density') === 'compact' ? 'compact' : 'cosy';
}

export function showDensity(): void {
  document.documentElement.dataset.density = density();
}

export function turnDensity(): void {
  remember('density', density() === 'compact' ? 'cosy' : 'compact');
  showDensity();
  for (const listener of listeners) listener();
}

export function useDensity(): Density {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, density);
}

/** How high a row is, where a table says nothing else. */
export const ROW: Record<Density, number> = { compact: 25, cosy: 32 };
