import { useEffect, useState } from 'react';
import { type Checked, check } from '../../api/authoring';

const PAUSE_MS = 250;

export interface Found {
  checked: Checked | null;
  error: unknown;
}

/** The answer to the latest text; older answers are dropped. */
export function useCheck(text: string): Found {
  const [found, setFound] = useState<Found>({ checked: null, error: null });
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(() => {
      check(text, stop.signal).then(
        (checked) => {
          // the last graph that could be drawn stays while the text does not read
          setFound((was) => ({
            checked: { ...checked, graph: checked.graph ?? was.checked?.graph ?? null },
            error: null,
          }));
        },
        (error: unknown) => {
          if (!stop.signal.aborted) setFound((was) => ({ ...was, error }));
        },
      );
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text]);
  return found;
}
