/** Asking until there is an answer: for what is fetched beside the queries, which have their own way of it. */
import { isPassing } from './problems';
import { pause } from './stream';

interface Asking {
  ask: () => Promise<void>;
  /** Whether anybody still wants to know. */
  isWanted: () => boolean;
  /** Told what went wrong, and null once it went well. */
  told: (problem: unknown) => void;
}

/** Ask; again, as long as that can help and somebody wants to know. True once it went well. */
export async function until({ ask, isWanted, told }: Asking): Promise<boolean> {
  for (let tries = 0; isWanted(); tries++) {
    try {
      await ask();
      if (isWanted()) told(null);
      return true;
    } catch (problem) {
      if (isWanted()) told(problem);
      if (!isPassing(problem)) return false;
    }
    await new Promise((resolve) => setTimeout(resolve, pause(tries)));
  }
  return false;
}
