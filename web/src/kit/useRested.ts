import { useEffect, useState } from 'react';

const REST_MS = 300;

/** A value once it rests: a moment after somebody stopped typing. */
export function useRested<T>(value: T): T {
  const [rested, setRested] = useState(value);
  const written = JSON.stringify(value);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the same words are the same value
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), REST_MS);
    return () => clearTimeout(timer);
  }, [written]);
  return rested;
}
