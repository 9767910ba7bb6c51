// @vitest-environment jsdom

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { act, cleanup, fireEvent, screen } from '@testing-library/react';
import { afterEach, beforeAll, expect, test, vi } from 'vitest';
import { connection } from '../api/connection';
import { answered, away } from '../api/problems';
import { Answer, type Asked } from './Answer';
import { isAccessible, makeBrowserParts, show } from './testing';

beforeAll(makeBrowserParts);
afterEach(() => {
  cleanup();
  connection.line('connecting');
});

const AT = Date.parse('2027-01-02T12:03:44Z');

function asked(given: Partial<Asked<string>>): Asked<string> {
  return { data: undefined, error: null, dataUpdatedAt: AT, refetch: vi.fn(), ...given };
}

const drawn = (of: Asked<string>) => <Answer of={of}>{(data) => <p>{data}</p>}</Answer>;

test('what was not told yet has its place, what could not be told its problem', () => {
  const { unmount } = show(drawn(asked({})));
  expect(screen.getByRole('status', { name: 'loading' })).toBeTruthy();
  unmount();
  const lost = asked({ error: away(new Error('refused')) });
  show(drawn(lost));
  fireEvent.click(screen.getByRole('button', { name: 'Retry' }));
  expect(lost.refetch).toHaveBeenCalledOnce();
});

test('what is there stays when asking again fails: greyed, with its moment, the problem beside it', async () => {
  const { container } = show(drawn(asked({ data: 'rows', error: away(new Error('refused')) })));
  expect(screen.getByText('rows').closest('[data-stale]')).not.toBeNull();
  expect(screen.queryByRole('alert')).toBeNull();
  expect(screen.getByRole('status').textContent).toContain('The server does not answer');
  expect(container.querySelector('time')?.dateTime).toBe(new Date(AT).toISOString());
  await isAccessible(container);
});

test.each([401, 403, 410])('what may not be seen any more, or is gone, does not stay: %i', (status) => {
  show(drawn(asked({ data: 'rows', error: answered(status, null) })));
  expect(screen.queryByText('rows')).toBeNull();
  expect(screen.getByRole('alert')).toBeTruthy();
});

test('an address that leads nowhere is said quietly, with a way back', async () => {
  const body = { title: 'No such execution', code: 'unknown-execution', detail: '', hint: '', status: 404 };
  const gone = asked({ data: 'rows', error: answered(404, body) });
  const { container } = show(drawn(gone));
  expect(screen.queryByText('rows')).toBeNull();
  expect(screen.queryByRole('alert')).toBeNull();
  expect(screen.getByRole('status').textContent).toContain('unknown-execution');
  expect(screen.getByRole('link', { name: 'All executions' })).toBeTruthy();
  fireEvent.click(screen.getByRole('button', { name: 'Retry' }));
  expect(gone.refetch).toHaveBeenCalledOnce();
  await isAccessible(container);
});

test('while the server is away everything is greyed, and what is shown is not drawn anew', () => {
  show(drawn(asked({ data: 'rows' })));
  const rows = screen.getByText('rows');
  expect(rows.closest('[data-stale]')).toBeNull();
  act(() => connection.line('offline'));
  expect(screen.getByText('rows').closest('[data-stale]')).not.toBeNull();
  expect(screen.getByText('rows')).toBe(rows);
});

test('no page decides by itself what is shown of a question that failed', () => {
  const folder = join(import.meta.dirname, '../features');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.tsx$/.test(name),
  );
  const own = files.filter((name) =>
    /\.isSuccess|isPending\) return|isError\) return/.test(readFileSync(join(folder, name), 'utf8')),
  );
  // the editor keeps what is being written, whatever the server says to it
  expect(own).toEqual(['editor/EditorPage.tsx']);
});
