/** The browser of the flows: the one that is named, one that is found, or the one that npm has (Linux on x64). */
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const CACHE = join(import.meta.dirname, '../.cache/chromium');
const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];

/** Its own list of fonts names folders of another machine. */
const FONTS = `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>
<dir>${CACHE}/fonts/fonts</dir><dir>/usr/share/fonts</dir><cachedir>${CACHE}/fonts-cache</cachedir>
</fontconfig>
`;

export interface Browser {
  executablePath: string;
  args: string[];
  env: Record<string, string>;
}

function onPath(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  for (const name of NAMES) {
    const found = folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
    if (found) return found;
  }
  return undefined;
}

/** Unpack the browser of npm once; a half-unpacked one is never taken for it. */
async function unpacked(): Promise<Browser> {
  const done = join(CACHE, 'ready');
  if (!existsSync(done)) {
    const half = `${CACHE}.${process.pid}`;
    mkdirSync(half, { recursive: true });
    process.env.TMPDIR = half; // where it unpacks to
    const { inflate } = await import('@sparticuz/chromium');
    const bin = join(import.meta.dirname, '../node_modules/@sparticuz/chromium/bin');
    for (const name of ['chromium.br', 'fonts.tar.br', 'swiftshader.tar.br', 'al2023.tar.br']) {
      await inflate(join(bin, name));
    }
    writeFileSync(join(half, 'fonts/fonts.conf'), FONTS);
    mkdirSync(join(half, 'ready'));
    delete process.env.TMPDIR;
    if (!existsSync(done)) renameSync(half, CACHE);
  }
  return {
    executablePath: join(CACHE, 'chromium'),
    // its own flags would put everything into one process and switch off what the policy is tested for
    args: ['--no-sandbox', '--headless=shell', '--font-render-hinting=none'],
    env: { LD_LIBRARY_PATH: join(CACHE, 'al2023/lib'), FONTCONFIG_PATH: join(CACHE, 'fonts') },
  };
}

export async function browser(): Promise<Browser> {
  const found = process.env.PETRA_BROWSER || onPath();
  if (found) return { executablePath: found, args: ['--no-sandbox'], env: {} };
  return unpacked();
}
