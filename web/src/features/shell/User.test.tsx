// @vitest-environment jsdom
import { cleanup, fireEvent, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeAll, expect, test, vi } from 'vitest';
import { client } from '../../api/client';
import type { Me } from '../../api/shapes';
import { isAccessible, makeBrowserParts, show } from '../../kit/testing';
import { User } from './Shell';

beforeAll(makeBrowserParts);
afterEach(cleanup);

const ADA = { name: 'ada', roles: ['operator@default'], may: [], csrf: 'c' } as unknown as Me;

test('who logged in can log out', async () => {
  const ended = vi.spyOn(client, 'DELETE').mockResolvedValue({ response: new Response(null) } as never);
  const { container } = show(<User who={ADA} />);
  await isAccessible(container);
  fireEvent.click(screen.getByRole('button', { name: 'You are ada (operator@default)' }));
  fireEvent.click(await screen.findByText('Log out'));
  await waitFor(() => expect(ended).toHaveBeenCalledWith('/api/v1/session'));
});

test('who came with a token has nothing to log out of', () => {
  show(<User who={{ ...ADA, csrf: null }} />);
  expect(screen.queryByRole('button')).toBeNull();
  expect(screen.getByText('ada')).toBeTruthy();
});
