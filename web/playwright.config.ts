import { defineConfig } from '@playwright/test';
import { browser } from './tests/browser';

const found = await browser();

export default defineConfig({
  testDir: './tests/flows',
  outputDir: './test-results',
  workers: 1,
  retries: 0,
  // for what hangs: a busy machine takes long, and fails no flow
  timeout: 180_000,
  expect: { timeout: 60_000 },
  reporter: [['line']],
  forbidOnly: true,
  use: {
    locale: 'en-US',
    viewport: { width: 1440, height: 900 },
    colorScheme: 'dark',
    launchOptions: {
      executablePath: found.executablePath,
      args: found.args,
      env: { ...(process.env as Record<string, string>), ...found.env },
    },
  },
});
