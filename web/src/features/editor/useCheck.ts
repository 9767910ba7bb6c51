import { useEffect, useState } from 'react';
import { type Checked, check } from '../../api/authoring';

const PAUSE_MS = 250;

export interface Found {
  checked: Checked | null;
  /** The graph is that of an earlier text: this one does not read. */
  isOld: boolean;
  error: unknown;
}

/** The answer to the latest text; older answers are dropped. */
export function useCheck(text: string): Found {
  const [found, setFound] = useState<Found>({ checked: null, isOld: false, error: null });
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(() => {
      check(text, stop.signal).then(
        (checked) => {
          // the last graph that could be drawn, and its outline, stay while the text does not read
          setFound(({ checked: was }) => ({
            checked: checked.graph || !was ? checked : { ...checked, graph: was.graph, outline: was.outline },
            isOld: !checked.graph && Boolean(was?.graph),
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
