import { useSyncExternalStore } from 'react';

const NARROW = '(max-width: 760px)';

/** Whether the window is that of a phone. */
export function useNarrow(): boolean {
  return useSyncExternalStore(
    (listener) => {
      const media = matchMedia(NARROW);
      media.addEventListener('change', listener);
      return () => media.removeEventListener('change', listener);
    },
    () => matchMedia(NARROW).matches,
  );
}
