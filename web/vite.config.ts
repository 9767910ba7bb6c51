import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

const OUT = join(import.meta.dirname, '../src/petra/server/ui');
const SMALL = 1024;

/** Everything that is text is stored packed too, so that the server never packs anything. */
function packed(): Plugin {
  return {
    name: 'petra-packed',
    apply: 'build',
    closeBundle() {
      const folder = join(OUT, 'assets');
      for (const name of readdirSync(folder)) {
        const file = join(folder, name);
        if (!/\.(js|css|svg)$/.test(name) || statSync(file).size < SMALL) continue;
        const raw = readFileSync(file);
        writeFileSync(`${file}.gz`, gzipSync(raw, { level: 9 }));
        const params = { [constants.BROTLI_PARAM_QUALITY]: 9 };
        writeFileSync(`${file}.br`, brotliCompressSync(raw, { params }));
      }
    },
  };
}

export default defineConfig({
  base: './',
  // its helper for tests wants a validator that compiles; ours interprets, and stands in for it
  resolve: { alias: { '@rjsf/validator-ajv8': join(import.meta.dirname, 'src/kit/validator.ts') } },
  plugins: [react(), packed()],
  build: {
    outDir: OUT,
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0, // the policy forbids what is written into the page
    modulePreload: { polyfill: false },
    manifest: 'manifest.json',
    chunkSizeWarningLimit: 2000,
  },
  test: {
    include: ['src/**/*.test.{ts,tsx}'],
    environment: 'node',
    restoreMocks: true,
    testTimeout: 60_000, // a busy machine fails no test
    // what all import is loaded once for each core, not once for each file; files pass in any order
    pool: 'threads',
    isolate: false,
  },
});
