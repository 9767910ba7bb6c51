/**
 * Streams of the server. A stream that breaks is begun anew behind the last record that came, so nothing comes twice;
 * a hidden tab lets go of it after a while, for a browser has few connections to a server.
 */
import { basePath } from './client';
import { connection } from './connection';

export const HIDDEN_MS = 30_000;
const FIRST_MS = 500;
const LONGEST_MS = 10_000;

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
    source.onerror = () => {
      if (this.#source === source) this.#again();
    };
  }

  #take(type: string, event: MessageEvent<string>): void {
    this.#tries = 0;
    if (event.lastEventId) this.#cursor = event.lastEventId;
    connection.heard(Date.now());
    if (type === 'reset') this.#cursor = '';
    this.#options.take({ type, data: JSON.parse(event.data), cursor: event.lastEventId });
    if (type === 'bye') this.#again();
  }

  #again(): void {
    this.#source?.close();
    this.#source = null;
    if (this.#over || this.#options.goesOn?.() === false) return;
    if (this.#tries > 0) connection.line('offline');
    else connection.line('connecting');
    this.#timer = setTimeout(() => this.#begin(), pause(this.#tries));
    this.#tries += 1;
  }

  /** Let go of the connection; `resume` goes on where it was. */
  rest(): void {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
  }

  resume(): void {
    if (this.#source === null && !this.#over) {
      clearTimeout(this.#timer);
      this.#begin();
    }
  }

  close(): void {
    this.#over = true;
    this.rest();
  }
}

/** Keep a stream while the tab is looked at, and for a while after. Returns how to end it. */
export function whileVisible(stream: Stream): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const changed = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => stream.rest(), HIDDEN_MS);
    else stream.resume();
  };
  document.addEventListener('visibilitychange', changed);
  return () => {
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', changed);
    stream.close();
  };
}
