/** However long it takes to show what came, at least so much more of the time is left to the hand. */
const LEAVES = 3;

/** Things that come faster than anybody looks: the first is taken at once, those behind it together, every so often. */
export class Paced<T> {
  #every: number;
  #take: (all: T[]) => void;
  #waiting: T[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(every: number, take: (all: T[]) => void) {
    this.#every = every;
    this.#take = take;
  }

  push(one: T): void {
    this.#waiting.push(one);
    if (this.#timer === undefined) this.#flush();
  }

  #flush(): void {
    this.#timer = undefined;
    if (!this.#waiting.length) return;
    const all = this.#waiting;
    this.#waiting = [];
    const begun = performance.now();
    this.#timer = setTimeout(() => this.#rest(performance.now() - begun)); // the page is drawn before that
    this.#take(all);
  }

  #rest(took: number): void {
    this.#timer = setTimeout(() => this.#flush(), Math.max(this.#every, took * LEAVES));
  }

  /** Take no more, not even what waits. */
  end(): void {
    clearTimeout(this.#timer);
    this.#waiting = [];
  }
}
