/** What an act would lead to: the server is asked with `dry_run`, and its answer is put into words. */
import type { Call } from '../api/client';
import type { Schemas } from '../api/shapes';

export interface Preview {
  sentence: string;
  /** It would not be done at all. */
  refused: boolean;
  /** Steps whose results are kept, and those that run again. */
  kept: readonly string[];
  again: readonly string[];
}

/** How the answer to an act that is only tried is read. */
export type Tried = (answer: unknown) => Preview;

const plain = (sentence: string): Preview => ({ sentence, refused: false, kept: [], again: [] });

export const dryRun: Tried = (answer) => {
  const found = answer as Schemas['DryRun'];
  return {
    sentence: found.sentence,
    refused: Boolean(found.refused),
    kept: found.kept ?? [],
    again: found.again ?? [],
  };
};

export const backfilled: Tried = (answer) => {
  const { count, more, since, until } = answer as Schemas['BackfillCount'];
  const times = count === 1 ? 'is 1 time' : `are ${count} times`;
  const range = `from ${minute(since)} to ${minute(until)}`;
  if (more) return { ...plain(`There ${times} ${range}, and more: choose a shorter range.`), refused: true };
  if (!count) return { ...plain(`There is no time ${range}: nothing would be started.`), refused: true };
  return plain(`There ${times} ${range}; each would be started.`);
};

function minute(at: string): string {
  return at.slice(0, 16).replace('T', ' ');
}

export const operated: Tried = (answer) => {
  const { act, total } = answer as Schemas['OperationItem'];
  if (!total) return { ...plain('No execution is meant any more.'), refused: true };
  return plain(`${total} ${total === 1 ? 'execution' : 'executions'} will be asked to ${act}.`);
};

/** The call that only tries. */
export function trial(call: Call): Call {
  return { ...call, path: `${call.path}${call.path.includes('?') ? '&' : '?'}dry_run=true` };
}
