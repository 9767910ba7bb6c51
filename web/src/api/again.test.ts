import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { until } from './again';
import { answered, away, type Problem } from './problems';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** What becomes of asking somebody who fails so many times first. */
async function asked(problem: Problem, failures: number, isWanted = () => true) {
  let times = 0;
  const told: unknown[] = [];
  const ask = async () => {
    times += 1;
    if (times <= failures) throw problem;
  };
  const asking = until({ ask, isWanted, told: (one) => told.push(one) });
  await vi.advanceTimersByTimeAsync(120_000);
  return { went: await asking, times, told };
}

test('what nobody answered is asked again until somebody does, and what was told of it is taken back', async () => {
  const problem = away(new Error('Failed to fetch'));
  expect(await asked(problem, 6)).toEqual({ went: true, times: 7, told: [...Array(6).fill(problem), null] });
  expect((await asked(answered(502, 'bad gateway'), 2)).went).toBe(true);
});

test('what was refused is not asked for again, nor what nobody wants to know any more', async () => {
  const refused = answered(404, null);
  expect(await asked(refused, 6)).toEqual({ went: false, times: 1, told: [refused] });
  let wanted = 2;
  const left = await asked(away(new Error('x')), 6, () => wanted-- > 0);
  expect([left.went, left.times]).toEqual([false, 1]);
});
