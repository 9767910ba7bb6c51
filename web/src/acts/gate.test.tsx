// @vitest-environment jsdom
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { act, cleanup, fireEvent, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import * as client from '../api/client';
import { connection } from '../api/connection';
import * as items from '../api/items';
import { makeBrowserParts, show } from '../kit/testing';
import * as toasts from '../kit/toast';
import { ActDialog } from './ActDialog';
import { type Offer, offer, sent } from './gate';
import { ITEM_ACTS } from './items';
import { actOf } from './registry';
import { EVERY, ITEM, VIEW } from './samples';
import * as doing from './useDoer';

beforeAll(makeBrowserParts);
beforeEach(() => connection.heard(0));
afterEach(() => {
  cleanup();
  connection.line('connecting');
});

const WAYS: Record<string, (offered: Offer) => void> = {
  'a button': ({ button }) => button.onClick(),
  'a key': ({ key }) => key.run(),
  'a menu': ({ item }) => item.onClick(),
  'the palette': ({ command }) => command.run(),
};

describe.each(Object.entries(WAYS))('by %s', (_, press) => {
  test.each(EVERY.map((one) => [one.group, one.act.id, one] as const))('%s: %s', (_, __, one) => {
    const said = vi.spyOn(toasts, 'toast').mockReturnValue();
    const begin = vi.fn();
    const asked = (change: object) => press(offer(one.act, { ...VIEW, ...one.view, ...change }, begin));
    asked({ offline: true });
    asked({ may: [] });
    expect(begin).not.toHaveBeenCalled();
    expect(said.mock.calls.map(([title]) => title)).toEqual(
      Array(2).fill(`${one.act.label.replace('…', '')}: not now`),
    );
    const may = [one.act.permission];
    const before = one.act.when({ ...VIEW, ...one.view, may });
    asked({ may });
    expect(begin).toHaveBeenCalledTimes(before === null ? 1 : 0);
  });
});

test.each(EVERY.map((one) => [one.group, one.act.id, one] as const))(
  'what is hindered by now is not sent: %s: %s',
  async (_, __, one) => {
    const carried = vi.spyOn(client, 'carryOut').mockResolvedValue(null);
    connection.line('offline');
    await expect(sent(one.act, { ...VIEW, ...one.view }, one.form)).rejects.toMatchObject({
      code: 'hindered',
    });
    connection.heard(1);
    await expect(sent(one.act, { ...VIEW, ...one.view, may: [] }, one.form)).rejects.toThrow(
      one.act.permission,
    );
    expect(carried).not.toHaveBeenCalled();
  },
);

test('a dialog sends nothing once the server is away, and says why', async () => {
  const carried = vi.spyOn(client, 'carryOut').mockResolvedValue({ sentence: '' });
  vi.spyOn(doing, 'useDoer').mockReturnValue({ may: VIEW.may, offline: true });
  const close = vi.fn();
  show(<ActDialog act={actOf('pause')} view={VIEW} onClose={close} onDone={vi.fn()} />);
  const button = await screen.findByRole('button', { name: 'Pause' });
  expect(button.title).toBe('the server does not answer');
  await act(async () => void fireEvent.submit(button.closest('form')!));
  expect(carried.mock.calls.filter(([call]) => !call.path.includes('dry_run'))).toEqual([]);
  expect(close).not.toHaveBeenCalled();
});

test('of those who have a part of a name in theirs the names are offered', async () => {
  const asked = vi.spyOn(items, 'usersNamed').mockResolvedValue(['ada', 'adam']);
  const delegate = ITEM_ACTS.find((one) => one.id === 'delegate')!;
  const view = { item: ITEM, me: 'ada', may: ['decide'], offline: false };
  show(<ActDialog act={delegate} view={view} onClose={vi.fn()} onDone={vi.fn()} />);
  fireEvent.change(await screen.findByLabelText(/^To whom/), { target: { value: 'ad' } });
  await waitFor(() => expect(document.querySelectorAll('#people option')).toHaveLength(2));
  expect(asked).toHaveBeenCalledWith('ad');
});

test('no page goes around the gate', () => {
  const folder = join(import.meta.dirname, '../features');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.tsx?$/.test(name),
  );
  const own = files.filter((name) =>
    /\b(carryOut|hindrance)\(/.test(readFileSync(join(folder, name), 'utf8')),
  );
  expect(own).toEqual([]);
});
