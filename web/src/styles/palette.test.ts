import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/** The colours are read by who sees fewer of them, on both grounds. */
const CSS = readFileSync(new URL('./tokens.css', import.meta.url), 'utf8');
const STATES = ['running', 'waiting', 'done', 'partial', 'failed', 'stuck'];
type Rgb = [number, number, number];

function block(theme: string): Record<string, string> {
  const text = CSS.split(`[data-theme="${theme}"]`)[1]?.split('}')[0] ?? '';
  return Object.fromEntries(
    [...text.matchAll(/--([a-z]+): (#[0-9a-f]{6})/g)].map((one) => [one[1]!, one[2]!]),
  );
}

function linear(hex: string): Rgb {
  return [1, 3, 5].map((at) => {
    const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as Rgb;
}

function contrast(one: string, two: string): number {
  const light = (hex: string) => {
    const [r, g, b] = linear(hex);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [low, high] = [light(one), light(two)].sort((a, b) => a - b) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

const SIGHTS: Record<string, Rgb[]> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protan: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deutan: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritan: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

function seen(hex: string, sight: Rgb[]): Rgb {
  const given = linear(hex);
  return sight.map((row) => Math.max(0, row[0] * given[0] + row[1] * given[1] + row[2] * given[2])) as Rgb;
}

function oklab([r, g, b]: Rgb): Rgb {
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function distance(one: Rgb, two: Rgb): number {
  return Math.hypot(one[0] - two[0], one[1] - two[1], one[2] - two[2]);
}

test.each(['light', 'dark'])('%s: every state is read on both grounds', (theme) => {
  const colours = block(theme);
  for (const name of [...STATES, 'idle', 'text', 'muted']) {
    for (const ground of ['ground', 'raised']) {
      expect(contrast(colours[name]!, colours[ground]!), `${name} on ${ground}`).toBeGreaterThanOrEqual(4.5);
    }
  }
});

test.each([
  ['light', 0.112],
  ['dark', 0.121],
])('%s: no two states look alike to anybody', (theme, least) => {
  const colours = block(theme);
  for (const [sight, matrix] of Object.entries(SIGHTS)) {
    STATES.forEach((one, n) => {
      for (const two of STATES.slice(n + 1)) {
        const apart = distance(oklab(seen(colours[one]!, matrix)), oklab(seen(colours[two]!, matrix)));
        expect(apart, `${one} and ${two} to ${sight} sight`).toBeGreaterThanOrEqual(least);
      }
    });
  }
});
