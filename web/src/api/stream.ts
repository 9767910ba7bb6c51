/**
 * Streams of the server. One that cannot be held, for something in between keeps it or cuts it, is asked for instead,
 * every other second. A stream that breaks is begun anew behind the last record that came, so nothing comes twice;
 * a hidden tab lets go of it after a while, for a browser has few connections to a server.
 */
import { basePath } from './client';
import { connection } from './connection';

export const HIDDEN_MS = 30_000;
const FIRST_MS = 500;
const LONGEST_MS = 10_000;
/** A server says hello at once; where nothing came for so long, something in between keeps it. */
export const SILENT_MS = 15_000;
/** After so many tries in vain it is asked instead. */
export const TRIES_MAX = 3;
export const POLL_MS = 2_000;
/** After so many questions the stream is tried again. */
export const POLLS_MAX = 30;

export interface Message {
  type: string;
  data: unknown;
  /** The number of the last record that it is about; empty where it is about none. */
  cursor: string;
}

export interface StreamOptions {
  /** The address, given the cursor to go on behind. */
  url: (cursor: string) => string;
  types: readonly string[];
  take: (message: Message) => void;
  /** Asked after a break, before anything is begun anew: whether it is worth it. */
  goesOn?: () => boolean;
  /** Ask for what a stream would have told; it throws where nobody answers. */
  poll?: () => Promise<void>;
}

/** How long to wait before trying again. */
export function pause(tries: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(tries, 10));
}

export interface Source {
  addEventListener(type: string, listener: (event: MessageEvent<string>) => void): void;
  onerror: ((event: Event) => void) | null;
  close(): void;
}

export class Stream {
  #options: StreamOptions;
  #open: (url: string) => Source;
  #source: Source | null = null;
  #cursor = '';
  #tries = 0;
  #polls = 0;
  /** Grows when something is let go of: what it still brings is not heard. */
  #turn = 0;
  #silence: ReturnType<typeof setTimeout> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #over = false;

  constructor(options: StreamOptions, open: (url: string) => Source = (url) => new EventSource(url)) {
    this.#options = options;
    this.#open = open;
    this.#begin();
  }

  #begin(): void {
    if (this.#over) return;
    const source = this.#open(`${basePath()}${this.#options.url(this.#cursor)}`);
    this.#source = source;
    for (const type of this.#options.types) {
      source.addEventListener(type, (event) => {
        if (this.#source === source) this.#take(type, event);
      });
    }
    const broke = () => {
      if (this.#source === source) this.#again();
    };
    source.onerror = broke;
    this.#silence = setTimeout(broke, SILENT_MS);
  }

  #take(type: string, event: MessageEvent<string>): void {
    clearTimeout(this.#silence);
    this.#tries = 0;
    if (event.lastEventId) this.#cursor = event.lastEventId;
    connection.heard(Date.now());
    if (type === 'reset') this.#cursor = '';
    this.#options.take({ type, data: JSON.parse(event.data), cursor: event.lastEventId });
    if (type === 'bye') this.#again();
  }

  #again(): void {
    this.#let();
    if (this.#over || this.#options.goesOn?.() === false) return;
    this.#tries += 1;
    if (this.#tries > TRIES_MAX && this.#options.poll) {
      this.#polls = 0;
      void this.#poll(this.#options.poll);
      return;
    }
    connection.line(this.#tries > 1 ? 'offline' : 'connecting');
    this.#timer = setTimeout(() => this.#begin(), pause(this.#tries - 1));
  }

  async #poll(ask: () => Promise<void>): Promise<void> {
    const turn = this.#turn;
    try {
      await ask();
      if (turn === this.#turn) connection.polled(Date.now());
    } catch {
      if (turn === this.#turn) connection.line('offline');
    }
    if (turn !== this.#turn || this.#over || this.#options.goesOn?.() === false) return;
    this.#polls += 1;
    const isEnough = this.#polls >= POLLS_MAX || connection.get().line === 'offline';
    this.#timer = setTimeout(() => (isEnough ? this.#begin() : void this.#poll(ask)), POLL_MS);
  }

  /** Let go of whatever is open or on its way. */
  #let(): void {
    this.#turn += 1;
    clearTimeout(this.#timer);
    clearTimeout(this.#silence);
    this.#source?.close();
    this.#source = null;
  }

  /** Let go of the connection; `resume` goes on where it was. */
  rest(): void {
    this.#let();
  }

  resume(): void {
    if (this.#source === null && !this.#over) {
      this.#let();
      this.#begin();
    }
  }

  close(): void {
    this.#over = true;
    this.rest();
  }
}

/**
 * Keep a stream while the tab is looked at, and for a while after; one that is opened behind another has none until then: six of
 * them would keep all connections that a browser has to a server. Returns how to end it.
 */
export function whileVisible(stream: Stream): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const changed = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => stream.rest(), HIDDEN_MS);
    else stream.resume();
  };
  if (document.hidden) stream.rest();
  document.addEventListener('visibilitychange', changed);
  return () => {
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', changed);
    stream.close();
  };
}
