// @vitest-environment jsdom
import { QueryObserver } from '@tanstack/react-query';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { answered, away } from '../../api/problems';
import { makeQueries } from './Surroundings';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** How often somebody asks within a minute whom nobody answers before the n-th time. */
async function timesAsked(error: Error, answeredAt: number): Promise<number> {
  let asked = 0;
  const queryFn = async () => {
    asked += 1;
    if (asked < answeredAt) throw error;
    return 'here';
  };
  const observer = new QueryObserver(makeQueries(), { queryKey: ['x'], queryFn });
  const leave = observer.subscribe(() => undefined);
  await vi.advanceTimersByTimeAsync(60_000);
  leave();
  return asked;
}

test('who could not be asked is asked again as long as that is shown, and no longer', async () => {
  expect(await timesAsked(away(new Error('refused')), 7)).toBe(7);
  expect(await timesAsked(answered(503, null), 7)).toBe(7);
});

test('what was refused is not asked for again', async () => {
  expect(await timesAsked(answered(404, null), 7)).toBe(1);
});
