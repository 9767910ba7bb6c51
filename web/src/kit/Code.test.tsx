// @vitest-environment jsdom
import { cleanup, screen } from '@testing-library/react';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { Problem } from '../api/problems';
import { ErrorBox } from '.';
import { pageOf } from './Code';
import { isAccessible, makeBrowserParts, show } from './testing';

beforeAll(makeBrowserParts);
afterEach(cleanup);

test('a page of a problem is one of this server, below its base path', () => {
  const own = location.origin;
  expect(pageOf('/docs/errors/stale', '')).toBe(`${own}/docs/errors/stale`);
  expect(pageOf('/petra/docs/errors/stale', '/petra')).toBe(`${own}/petra/docs/errors/stale`);
  expect(pageOf(`${own}/petra/docs`, '/petra')).toBe(`${own}/petra/docs`);
  const others = ['/other/docs', '//evil.example/x', 'https://evil.example/x', 'about:blank', 'javascript:1'];
  for (const type of [...others, `data:text/html,x`, 'docs/errors/stale', '', undefined])
    expect(pageOf(type, '/petra'), String(type)).toBeNull();
  expect(pageOf('//evil.example/x', '')).toBeNull();
  expect(pageOf('/\\evil.example/x', '')).toBeNull();
});

function problem(type: string): Problem {
  return new Problem({ type, title: 'Stale', status: 409, code: 'stale', detail: '', hint: '' });
}

test('the code of a problem leads to its page, and is plain text where there is none', async () => {
  const { container } = show(<ErrorBox error={problem('/docs/errors/stale')} />);
  expect(screen.getByRole('link', { name: 'stale' }).getAttribute('href')).toContain('/docs/errors/stale');
  await isAccessible(container);
  cleanup();
  show(<ErrorBox error={problem('https://evil.example/stale')} />);
  expect(screen.queryByRole('link')).toBeNull();
  expect(screen.getByRole('alert').textContent).toContain('stale');
});
