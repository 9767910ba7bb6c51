/** Whether the server is there, as the status line says it. One value, heard by whoever shows it. */

/** `polling`: the server answers, but a stream of it cannot be held. */
export type Line = 'connecting' | 'live' | 'polling' | 'offline';

export interface Connection {
  line: Line;
  /** When the last message came, in milliseconds since 1970. */
  heard: number | null;
  /** The version of the server that first answered this page, and of the one that answers now. */
  first: string | null;
  server: string | null;
  /** How long the server took to answer when it was last asked how it is, in milliseconds. */
  lag: number | null;
}

type Listener = () => void;

/** Messages may come by the thousand: so often is told that one did. */
const TELL_MS = 1000;

export class ConnectionStore {
  #now: Connection = { line: 'connecting', heard: null, first: null, server: null, lag: null };
  #listeners = new Set<Listener>();

  get = (): Connection => this.#now;

  /** Whether it is there: for pages, which need not know when they heard of it last. */
  getLine = (): Line => this.#now.line;

  subscribe = (listener: Listener): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  #set(next: Connection): void {
    this.#now = next;
    for (const listener of this.#listeners) listener();
  }

  line(line: Line): void {
    if (line !== this.#now.line) this.#set({ ...this.#now, line });
  }

  heard(at: number): void {
    const { line, heard } = this.#now;
    if (line === 'live' && heard !== null && at - heard < TELL_MS) return;
    this.#set({ ...this.#now, heard: at, line: 'live' });
  }

  /** A call was answered: the server is there, whether or not a stream of it is. */
  answered(at: number): void {
    if (this.#now.line !== 'polling') this.heard(at);
  }

  /** A call was not: it is known at once, also on a page that holds no stream. */
  unanswered(): void {
    this.line('offline');
  }

  polled(at: number): void {
    this.#set({ ...this.#now, heard: at, line: 'polling' });
  }

  /** It was asked how it is, and took so long to say. */
  took(ms: number): void {
    this.#set({ ...this.#now, lag: ms });
  }

  version(server: string): void {
    if (server === this.#now.server) return;
    this.#set({ ...this.#now, server, first: this.#now.first ?? server });
  }

  get isStale(): boolean {
    return this.#now.first !== null && this.#now.first !== this.#now.server;
  }
}

export const connection = new ConnectionStore();
