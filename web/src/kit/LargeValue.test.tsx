// @vitest-environment jsdom
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, expect, test } from 'vitest';
import type { Json } from '../api/shapes';
import { pointerOf, referenceIn, type ValueSource, ValuesFrom } from './LargeValue';
import { Value } from './Value';

afterEach(cleanup);

const REFERENCE = { store: 'file', key: 'e/abc.json', checksum: 'abc', size: 10_000_000, schema_hint: null };

test('a reference is known by what it has, and nothing else is one', () => {
  expect(referenceIn({ ...REFERENCE, path: ['a', 3] })).toEqual({
    key: 'e/abc.json',
    size: 10_000_000,
    path: ['a', 3],
  });
  for (const other of [null, 3, 'x', [], {}, { key: 'x' }, { ...REFERENCE, size: '1' }] as Json[]) {
    expect(referenceIn(other)).toBeNull();
  }
});

test('a pointer leads through any key', () => {
  expect(pointerOf(['a/b', '~', 0])).toBe('/a~1b/~0/0');
});

test('a large value comes in parts, as data, and goes deeper where somebody asks', async () => {
  const asked: [string, string, number][] = [];
  const source: ValueSource = {
    href: (key) => `/objects/${key}`,
    fetch: async (key, pointer, offset) => {
      asked.push([key, pointer, offset]);
      if (pointer === '/<b>1<~1b>')
        return { kind: 'text', total: 3, offset: 0, next: null, content: '<img src=x>' };
      const content: Json = offset
        ? [{ key: 'last', value: 7 }]
        : [
            { key: 'first', value: '<script>' },
            { key: '<b>1</b>', preview: 'xxx', kind: 'text', total: 3 },
          ];
      return { kind: 'object', total: 3, offset, next: offset ? null : 2, content };
    },
  };
  const { container } = render(
    <ValuesFrom value={source}>
      <Value value={{ big: REFERENCE }} />
    </ValuesFrom>,
  );
  expect(container.textContent).toContain('9.5 MB, kept apart');
  fireEvent.click(screen.getByRole('button', { name: 'load' }));
  await waitFor(() => expect(container.textContent).toContain('"<script>"'));
  fireEvent.click(screen.getByRole('button', { name: 'more of 3' }));
  await waitFor(() => expect(container.textContent).toContain('last: 7'));
  fireEvent.click(screen.getByRole('button', { name: 'load' }));
  await waitFor(() => expect(container.textContent).toContain('<img src=x>'));
  expect(container.querySelector('img, script, b')).toBeNull();
  expect(asked).toEqual([
    ['e/abc.json', '', 0],
    ['e/abc.json', '', 2],
    ['e/abc.json', '/<b>1<~1b>', 0],
  ]);
});

test('one that cannot be fetched says why, and can be tried again', async () => {
  const source: ValueSource = {
    href: String,
    fetch: async () => {
      throw new Error('it is gone');
    },
  };
  render(
    <ValuesFrom value={source}>
      <Value value={REFERENCE} />
    </ValuesFrom>,
  );
  fireEvent.click(screen.getByRole('button', { name: 'load' }));
  await waitFor(() => expect(screen.getByRole('alert').textContent).toBe('it is gone'));
  expect(screen.getByRole('button', { name: 'load' })).toBeTruthy();
});
