// @vitest-environment jsdom
import { act, renderHook } from '@testing-library/react';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { usePaced } from './usePaced';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('it goes on at once, then with the last of what came, once in a while', () => {
  const { result, rerender } = renderHook(({ value }) => usePaced(value, 1000), {
    initialProps: { value: 1 },
  });
  const pass = (ms: number) => act(() => vi.advanceTimersByTime(ms));
  rerender({ value: 2 });
  pass(1);
  expect(result.current).toBe(2);
  for (let value = 3; value <= 11; value++) {
    rerender({ value });
    pass(100);
    expect(result.current).toBe(2);
  }
  rerender({ value: 12 });
  pass(200);
  expect(result.current).toBe(12);
});
