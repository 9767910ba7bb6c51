import { useEffect, useState } from 'react';

const REST_MS = 120;

/** A value once the hand rests: while it moves, the one before. */
export function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), REST_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
