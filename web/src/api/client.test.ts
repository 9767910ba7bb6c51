import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { carryOut, client, taken } from './client';
import { connection } from './connection';

beforeEach(() => connection.heard(0));
afterEach(() => {
  vi.unstubAllGlobals();
  connection.line('connecting');
});

const asks = {
  'a question': () =>
    taken(client.GET('/api/v1/meta', { baseUrl: 'http://127.0.0.1', fetch: (request) => fetch(request) })),
  'an act': () => carryOut({ method: 'POST', path: '/api/v1/executions/x/pause' }),
};

function answer(status: number, type = 'application/json'): void {
  const given = async () => new Response('{}', { status, headers: { 'content-type': type } });
  vi.stubGlobal('fetch', vi.fn(given));
}

function noAnswer(): void {
  vi.stubGlobal('fetch', vi.fn().mockRejectedValue(new TypeError('refused')));
}

test.each(Object.entries(asks))(
  '%s that nobody answers tells that the server is away, the next that it is back',
  async (_, ask) => {
    noAnswer();
    await expect(ask()).rejects.toMatchObject({ code: 'away' });
    expect(connection.getLine()).toBe('offline');
    answer(200);
    await ask();
    expect(connection.getLine()).toBe('live');
  },
);

test.each(Object.entries(asks))(
  '%s that is refused was answered; one that a proxy answered was not',
  async (_, ask) => {
    connection.line('offline');
    answer(404, 'application/problem+json');
    await expect(ask()).rejects.toThrow();
    expect(connection.getLine()).toBe('live');
    answer(503, 'application/problem+json');
    await expect(ask()).rejects.toThrow();
    expect(connection.getLine()).toBe('live');
    answer(502, 'text/html');
    await expect(ask()).rejects.toThrow();
    expect(connection.getLine()).toBe('offline');
  },
);

test('an answer does not say that a stream is held which is not', async () => {
  connection.polled(1);
  answer(200);
  await asks['an act']();
  await asks['a question']();
  expect(connection.getLine()).toBe('polling');
});
