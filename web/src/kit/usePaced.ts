import { useEffect, useState } from 'react';

/** A value that goes on at once, and then at most every so often, however fast the one that it is given does. */
export function usePaced<T>(value: T, every: number): T {
  const [told, setTold] = useState({ value, at: Number.NEGATIVE_INFINITY });
  useEffect(() => {
    if (Object.is(value, told.value)) return;
    const wait = Math.max(0, told.at + every - performance.now());
    const timer = setTimeout(() => setTold({ value, at: performance.now() }), wait);
    return () => clearTimeout(timer);
  }, [value, told, every]);
  return told.value;
}
