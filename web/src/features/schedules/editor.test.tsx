// @vitest-environment jsdom
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from '@tanstack/react-router';
import { cleanup, configure, fireEvent, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { client } from '../../api/client';
import { connection } from '../../api/connection';
import type { Base } from '../../api/schedules';
import { isAccessible, makeBrowserParts, show } from '../../kit/testing';
import { ScheduleEditor } from './ScheduleEditor';
import { clocks, median } from './words';

// it is waited for what happens, however slow the machine is
vi.setConfig({ testTimeout: 60_000 });
configure({ asyncUtilTimeout: 50_000 });
beforeAll(makeBrowserParts);
afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
  localStorage.clear();
  connection.line('connecting');
});

const BASE: Base = {
  document: {
    apiVersion: 'petra/v1',
    kind: 'Schedule',
    metadata: { name: 'nightly' },
    playbook: 'hello',
    cron: '30 2 * * *',
  },
  digest: 'd1',
  paused: false,
};
const TIMES = {
  words: 'At 02:30 every day',
  next: [
    { nominal: '2027-03-27T02:30:00+01:00' },
    { nominal: '2027-03-28T03:30:00+02:00', note: '02:30 is skipped' },
  ],
};

let may: string[];
let answers: Record<string, unknown>;
let sent: { url: string; headers: Record<string, string>; text: string }[];
let next: (() => Response) | null;

function answer(status: number, body: object): () => Response {
  const headers = { 'content-type': 'application/json' };
  return () => new Response(JSON.stringify(body), { status, headers });
}

const stale = answer(412, { code: 'stale', title: 'It has changed since you looked', detail: '', hint: '' });

beforeEach(() => {
  may = ['see', 'apply'];
  sent = [];
  next = answer(201, {});
  answers = { '/api/v1/playbooks': { items: [{ path: 'hello' }], next: null } };
  const given = async (path: string) => {
    const data = path === '/api/v1/me' ? { may, csrf: '' } : answers[path];
    const lacks = { code: 'not-found', title: 'no' };
    return data === undefined
      ? { error: lacks, response: new Response(null, { status: 404 }) }
      : { data, response: new Response(null, { status: 200 }) };
  };
  vi.spyOn(Intl, 'supportedValuesOf').mockReturnValue(['Europe/Berlin']);
  vi.spyOn(client, 'GET').mockImplementation(given as never);
  vi.spyOn(client, 'POST').mockImplementation((async () => ({
    data: TIMES,
    response: new Response(null, { status: 200 }),
  })) as never);
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (url, init) => {
    const { text } = JSON.parse(String(init?.body)) as { text: string };
    sent.push({ url: String(url), headers: init?.headers as Record<string, string>, text });
    if (!next) throw new TypeError('nobody there');
    return next();
  });
});

const savable = () => waitFor(() => expect(screen.getByText('Save').closest('[aria-disabled]')).toBeNull());

function edited(name: string, first: Base | null) {
  const root = createRootRoute();
  const path = '/schedules';
  const page = () => <ScheduleEditor name={name} first={first} />;
  const home = createRoute({ getParentRoute: () => root, path: '/', component: page });
  const list = createRoute({ getParentRoute: () => root, path, component: () => <p>the list</p> });
  const history = createMemoryHistory({ initialEntries: ['/'] });
  const router = createRouter({ routeTree: root.addChildren([home, list]), history });
  return show(<RouterProvider router={router as never} />);
}

const field = (name: string) => screen.getByLabelText(new RegExp(`^${name}`)) as HTMLInputElement;
const type = (name: string, value: string) => fireEvent.change(field(name), { target: { value } });
const press = (name: string) => fireEvent.click(screen.getByText(name));

test('a new one is looked ahead with, lacks what it lacks, and is saved where none was', async () => {
  const { container } = edited('', null);
  expect(await screen.findByText(/At 02:30 every day/)).toBeTruthy();
  expect(screen.getByText('Sun 2027-03-28 03:30')).toBeTruthy();
  expect(screen.getByText('02:30 is skipped')).toBeTruthy();
  await isAccessible(container);
  type('Name', 'nightly');
  await savable();
  press('Save');
  expect(await screen.findByText('this is needed')).toBeTruthy();
  expect(sent).toEqual([]);
  type('Playbook', 'hello');
  press('Save');
  expect(await screen.findByText('the list')).toBeTruthy();
  expect(sent[0]?.url).toBe('/api/v1/schedules/nightly');
  expect(sent[0]?.headers).toMatchObject({ 'If-None-Match': '*' });
  expect(sent[0]?.text).toContain('metadata: {name: nightly}\nplaybook: hello\n');
  expect(localStorage.getItem('petra.schedule.')).toBe('');
});

test('what was typed stays when the server refuses it or is away, and is there again after a reload', async () => {
  edited('nightly', BASE);
  await screen.findByText(/At 02:30 every day/);
  type('Cron line', '61 * * * *');
  await savable();
  const errors = [{ severity: 'error', line: 5, message: 'its minute is not one', hint: '0 to 59' }];
  next = answer(422, {
    code: 'invalid-playbook',
    title: 'The playbook has errors',
    detail: '',
    hint: '',
    errors,
  });
  press('Save');
  expect(await screen.findByText('its minute is not one; 0 to 59')).toBeTruthy();
  expect(field('Cron line').value).toBe('61 * * * *');
  type('Cron line', '1 * * * *');
  expect(screen.queryByText('its minute is not one; 0 to 59')).toBeNull();
  next = null;
  press('Save');
  expect(await screen.findByText('The server does not answer')).toBeTruthy();
  expect(field('Cron line').value).toBe('1 * * * *');
  cleanup();
  edited('nightly', { ...BASE, digest: 'd2' });
  expect(await screen.findByText(/did not save is here again/)).toBeTruthy();
  expect(field('Cron line').value).toBe('1 * * * *');
  next = answer(201, {});
  connection.answered(Date.now()); // the status line has heard of it again
  await savable();
  press('Save');
  await screen.findByText('the list');
  expect(sent.at(-1)?.headers, 'it was written before the other change').toMatchObject({
    'If-Match': '"d1"',
  });
});

test('nothing of another is overwritten unseen: both are shown, merged, and then saved', async () => {
  edited('nightly', BASE);
  await screen.findByText(/At 02:30 every day/);
  type('Jitter', '30');
  await savable();
  next = stale;
  answers['/api/v1/schedules/{name}'] = {
    ...BASE,
    document: { ...BASE.document, cron: '0 5 * * *' },
    digest: 'd2',
  };
  press('Save');
  const box = await screen.findByLabelText('Somebody else changed it meanwhile');
  expect(box.textContent).toContain('cron: 0 5 * * *');
  await isAccessible(box);
  press('Merge both');
  expect(field('Cron line').value).toBe('0 5 * * *');
  expect(field('Jitter').value).toBe('30');
  next = answer(201, {});
  press('Save');
  await screen.findByText('the list');
  expect(sent.at(-1)?.headers).toMatchObject({ 'If-Match': '"d2"' });
});

test('what was removed meanwhile comes back only as a new one', async () => {
  edited('nightly', BASE);
  await screen.findByText(/At 02:30 every day/);
  type('Jitter', '30');
  await savable();
  next = stale;
  press('Save');
  await screen.findByText('Somebody removed it meanwhile');
  press('Make it anew');
  next = answer(201, {});
  press('Save');
  await screen.findByText('the list');
  expect(sent.at(-1)?.headers).toMatchObject({ 'If-None-Match': '*' });
});

test('an answer that was lost is no conflict: the text that is there is mine', async () => {
  edited('nightly', BASE);
  await screen.findByText(/At 02:30 every day/);
  type('Jitter', '30');
  await savable();
  next = stale;
  answers['/api/v1/schedules/{name}'] = {
    ...BASE,
    document: { ...BASE.document, jitter_s: 30 },
    digest: 'd2',
  };
  press('Save');
  expect(await screen.findByText('the list')).toBeTruthy();
});

test('who may not apply is told why', async () => {
  may = ['see', 'steer'];
  edited('nightly', BASE);
  await screen.findByText(/At 02:30 every day/);
  type('Jitter', '30');
  expect(await screen.findByText(/It cannot be saved: you may not 'apply' here/)).toBeTruthy();
  press('Save');
  expect(sent).toEqual([]);
});

test('what was paused by hand is not said by its text', async () => {
  edited('nightly', { ...BASE, paused: true });
  await screen.findByText(/At 02:30 every day/);
  expect(screen.getByText(/It was paused by hand/)).toBeTruthy();
  expect(screen.queryByLabelText('Paused')).toBeNull();
});

test('times are read as the clocks of the schedule show them', () => {
  expect(clocks('2027-03-28T03:30:00+02:00')).toBe('Sun 2027-03-28 03:30');
  expect(clocks('2027-03-28T03:30:30+02:00')).toBe('Sun 2027-03-28 03:30:30');
});

test('the median is of those that have ended', () => {
  const run = (seconds: number | null) => ({
    execution: 'e',
    status: 'completed',
    nominal: null,
    started: '2026-01-01T00:00:00Z',
    ended: seconds === null ? null : new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)).toISOString(),
  });
  expect(median([run(3), run(null), run(1), run(50)])).toBe(3000);
  expect(median([run(1), run(2)])).toBe(1500);
  expect(median([run(null)])).toBeNull();
});
