import { expect, test } from 'vitest';
import { asLines, everything } from './exporting';

test('a list is exported to its last page, a line for each', async () => {
  const pages: Record<string, { items: unknown[]; next: string | null }> = {
    first: { items: [{ n: 1, text: 'two\nlines' }, { n: 2 }], next: 'b' },
    b: { items: [], next: 'c' },
    c: { items: [{ n: 3 }], next: null },
  };
  const rows = await everything(async (cursor) => pages[cursor ?? 'first']!);
  expect(asLines(rows).split('\n')).toEqual(['{"n":1,"text":"two\\nlines"}', '{"n":2}', '{"n":3}', '']);
});
