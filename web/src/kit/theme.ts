/** Light, dark, or as the machine says. */
import { useSyncExternalStore } from 'react';
import { recalled, remember } from './memory';

export type Theme = 'light' | 'dark';
const listeners = new Set<() => void>();
const asMachine = () => (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');

export function theme(): Theme {
  const kept = recalled('theme');
  return kept === 'light' || kept === 'dark' ? kept : asMachine();
}

export function showTheme(): void {
  document.documentElement.dataset.theme = theme();
}

export function turnTheme(): void {
  remember('theme', theme() === 'dark' ? 'light' : 'dark');
  showTheme();
  for (const listener of listeners) listener();
}

export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    const media = matchMedia('(prefers-color-scheme: dark)');
    const changed = () => {
      showTheme();
      listener();
    };
    media.addEventListener('change', changed);
    return () => {
      listeners.delete(listener);
      media.removeEventListener('change', changed);
    };
  }, theme);
}
