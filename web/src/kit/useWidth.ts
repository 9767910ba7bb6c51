import { useCallback, useRef, useState } from 'react';

/** How wide an element is, also one that comes later than its component; and what to give it as `ref`. */
export function useWidth(start = 0): [(element: HTMLElement | null) => void, number] {
  const [width, setWidth] = useState(start);
  const watch = useRef<ResizeObserver | null>(null);
  const ref = useCallback((element: HTMLElement | null) => {
    watch.current?.disconnect();
    watch.current = null;
    if (!element) return;
    watch.current = new ResizeObserver(([entry]) => setWidth(entry?.contentRect.width ?? 0));
    watch.current.observe(element);
  }, []);
  return [ref, width];
}
