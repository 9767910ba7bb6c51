import { defineConfig } from '@playwright/test';
import { browser } from './tests/browser';

const found = await browser();

export default defineConfig({
  testDir: './tests/flows',
  outputDir: './test-results',
  workers: 1,
  retries: 0,
  timeout: 60_000,
  expect: { timeout: 20_000 },
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
