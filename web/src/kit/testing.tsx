/** For tests of what is shown: a browser's parts that jsdom lacks, what surrounds every page, and axe. */
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { configure, render } from '@testing-library/react';
import axe from 'axe-core';
import type { ReactNode } from 'react';
import { expect } from 'vitest';

/** A machine that is busy is no failure; what never comes is told before its test is given up. */
const HANG_MS = 50_000;

export function makeBrowserParts(): void {
  configure({ asyncUtilTimeout: HANG_MS });
  window.matchMedia = (query: string) =>
    ({
      matches: false,
      media: query,
      addEventListener: () => undefined,
      removeEventListener: () => undefined,
    }) as unknown as MediaQueryList;
  window.ResizeObserver = class {
    observe(): void {}
    unobserve(): void {}
    disconnect(): void {}
  };
}

export function show(node: ReactNode) {
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  return render(
    <MantineProvider env="test">
      <QueryClientProvider client={queries}>{node}</QueryClientProvider>
    </MantineProvider>,
  );
}

export async function isAccessible(box: Element): Promise<void> {
  const found = await axe.run(box, {
    rules: { 'color-contrast': { enabled: false }, region: { enabled: false } },
  });
  expect(found.violations.map((one) => `${one.id}: ${one.help}`)).toEqual([]);
}
