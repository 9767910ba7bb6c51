import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ConnectionStore, connection } from './connection';
import {
  HIDDEN_MS,
  type Message,
  POLL_MS,
  POLLS_MAX,
  pause,
  SILENT_MS,
  type Source,
  Stream,
  TRIES_MAX,
  whileVisible,
} from './stream';

class Fake implements Source {
  static all: Fake[] = [];
  listeners = new Map<string, (event: MessageEvent<string>) => void>();
  onerror: ((event: Event) => void) | null = null;
  closed = false;
  url: string;

  constructor(url: string) {
    this.url = url;
    Fake.all.push(this);
  }
  addEventListener(type: string, listener: (event: MessageEvent<string>) => void): void {
    this.listeners.set(type, listener);
  }
  close(): void {
    this.closed = true;
  }
  say(type: string, data: unknown, lastEventId = ''): void {
    this.listeners.get(type)?.({ data: JSON.stringify(data), lastEventId } as MessageEvent<string>);
  }
}

const TYPES = ['hello', 'frames', 'reset', 'bye'];
let heard: Message[] = [];
const begin = (goesOn?: () => boolean) =>
  new Stream(
    { url: (cursor) => `/s?after=${cursor || 0}`, types: TYPES, take: (one) => heard.push(one), goesOn },
    (url) => new Fake(url),
  );

beforeEach(() => {
  vi.useFakeTimers();
  Fake.all = [];
  heard = [];
});
afterEach(() => {
  vi.useRealTimers();
});

test('what comes is given on', () => {
  const stream = begin();
  Fake.all[0]?.say('frames', { a: 1 }, '7');
  expect(heard).toEqual([{ type: 'frames', data: { a: 1 }, cursor: '7' }]);
  expect(connection.get().line).toBe('live');
  stream.close();
  expect(Fake.all[0]?.closed).toBe(true);
});

test('one that breaks goes on behind the last record', () => {
  const stream = begin();
  Fake.all[0]?.say('frames', {}, '7');
  Fake.all[0]?.onerror?.(new Event('error'));
  expect(Fake.all[0]?.closed).toBe(true);
  expect(Fake.all).toHaveLength(1);
  vi.advanceTimersByTime(pause(0));
  expect(Fake.all[1]?.url).toBe('/s?after=7');
  stream.close();
});

test('what an old connection still says is not heard', () => {
  const stream = begin();
  const [old] = Fake.all;
  old?.onerror?.(new Event('error'));
  old?.say('frames', { late: true }, '3');
  expect(heard).toEqual([]);
  stream.close();
});

test('a server that is away is tried again, ever more slowly, and the line says so', () => {
  const stream = begin();
  for (let n = 0; n < 4; n++) {
    Fake.all.at(-1)?.onerror?.(new Event('error'));
    vi.advanceTimersByTime(pause(n));
  }
  expect(Fake.all).toHaveLength(5);
  expect(connection.get().line).toBe('offline');
  Fake.all.at(-1)?.say('hello', {});
  expect(connection.get().line).toBe('live');
  stream.close();
});

test('one that is over is not begun anew', () => {
  begin(() => false);
  Fake.all[0]?.onerror?.(new Event('error'));
  vi.advanceTimersByTime(60_000);
  expect(Fake.all).toHaveLength(1);
});

test('a reset forgets the cursor, goodbye begins anew, a rest is resumed', () => {
  const stream = begin();
  Fake.all[0]?.say('frames', {}, '7');
  Fake.all[0]?.say('reset', {});
  Fake.all[0]?.say('bye', { retry_ms: 1 });
  vi.advanceTimersByTime(pause(0));
  expect(Fake.all[1]?.url).toBe('/s?after=0');
  stream.rest();
  stream.resume();
  stream.resume();
  expect(Fake.all).toHaveLength(3);
  stream.close();
  stream.resume();
  expect(Fake.all).toHaveLength(3);
});

test('the pauses have an end', () => {
  expect(pause(0)).toBe(500);
  expect(pause(100)).toBe(10_000);
});

test('another version of the server is noticed', () => {
  const store = new ConnectionStore();
  store.version('1');
  expect(store.isStale).toBe(false);
  store.version('2');
  expect(store.isStale).toBe(true);
});

const ask = vi.fn(async () => {});
const polled = () =>
  new Stream(
    { url: () => '/s', types: TYPES, take: (one) => heard.push(one), poll: ask },
    (url) => new Fake(url),
  );

async function failed(times: number): Promise<void> {
  for (let n = 0; n < times; n++) {
    Fake.all.at(-1)?.onerror?.(new Event('error'));
    await vi.advanceTimersByTimeAsync(n < TRIES_MAX ? pause(n) : 0);
  }
}

test('a stream that cannot be held is asked for instead, and tried again after a while', async () => {
  ask.mockClear();
  const stream = polled();
  await failed(TRIES_MAX + 1);
  expect(ask).toHaveBeenCalledTimes(1);
  expect(connection.get().line).toBe('polling');
  const opened = Fake.all.length;
  await vi.advanceTimersByTimeAsync(POLL_MS * (POLLS_MAX - 1));
  expect(ask).toHaveBeenCalledTimes(POLLS_MAX);
  expect(Fake.all).toHaveLength(opened);
  await vi.advanceTimersByTimeAsync(POLL_MS);
  expect(Fake.all).toHaveLength(opened + 1);
  Fake.all.at(-1)?.say('hello', {});
  expect(connection.get().line).toBe('live');
  await vi.advanceTimersByTimeAsync(POLL_MS * 3);
  expect(ask).toHaveBeenCalledTimes(POLLS_MAX);
  stream.close();
});

test('where nobody answers either, the line says so, and the stream is tried again', async () => {
  ask.mockClear();
  ask.mockImplementation(async () => {
    throw new Error('refused');
  });
  const stream = polled();
  await failed(TRIES_MAX + 1);
  expect(connection.get().line).toBe('offline');
  const opened = Fake.all.length;
  await vi.advanceTimersByTimeAsync(POLL_MS);
  expect(Fake.all).toHaveLength(opened + 1);
  stream.close();
});

test('one that is open but never says a word is as good as broken', async () => {
  const stream = polled();
  await vi.advanceTimersByTimeAsync(SILENT_MS);
  expect(Fake.all[0]?.closed).toBe(true);
  await vi.advanceTimersByTimeAsync(pause(0));
  expect(Fake.all).toHaveLength(2);
  Fake.all[1]?.say('hello', {});
  await vi.advanceTimersByTimeAsync(SILENT_MS * 2);
  expect(Fake.all[1]?.closed).toBe(false);
  stream.close();
});

test('an answer that comes after it was closed is not heard, and nothing is asked any more', async () => {
  ask.mockClear();
  let answer = () => {};
  ask.mockImplementation(
    () =>
      new Promise<void>((resolve) => {
        answer = resolve;
      }),
  );
  const stream = polled();
  await failed(TRIES_MAX + 1);
  connection.line('connecting');
  stream.close();
  answer();
  await vi.advanceTimersByTimeAsync(POLL_MS * 5);
  expect(connection.get().line).toBe('connecting');
  expect(ask).toHaveBeenCalledTimes(1);
});

/** A tab that is looked at, or not. */
function tab(hidden: boolean) {
  const tab = Object.assign(new EventTarget(), { hidden, baseURI: 'http://127.0.0.1/' });
  vi.stubGlobal('document', tab);
  return (next: boolean) => {
    tab.hidden = next;
    tab.dispatchEvent(new Event('visibilitychange'));
  };
}

const held = () => Fake.all.filter((one) => !one.closed).length;

test('a tab that is hidden lets go of its connection after a while, and takes it up when it is looked at', () => {
  const turn = tab(false);
  const end = whileVisible(begin());
  turn(true);
  vi.advanceTimersByTime(HIDDEN_MS - 1);
  expect(held()).toBe(1);
  vi.advanceTimersByTime(1);
  expect(held()).toBe(0);
  turn(false);
  expect(held()).toBe(1);
  end();
  expect(held()).toBe(0);
  vi.unstubAllGlobals();
});

test('a tab that is opened behind another holds no connection until it is looked at', () => {
  const turn = tab(true);
  const end = whileVisible(begin());
  expect(held()).toBe(0);
  vi.advanceTimersByTime(HIDDEN_MS * 10);
  expect(held()).toBe(0);
  turn(false);
  expect(held()).toBe(1);
  end();
  expect(held()).toBe(0);
  vi.unstubAllGlobals();
});
