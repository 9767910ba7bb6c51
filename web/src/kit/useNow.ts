import { useEffect, useState } from 'react';

const EVERY_MS = 1000;

/** The time, while it matters: it goes on every second, and stands still where nothing does. */
export function useNow(goesOn: boolean): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!goesOn) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), EVERY_MS);
    return () => clearInterval(timer);
  }, [goesOn]);
  return now;
}
