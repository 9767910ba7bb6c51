import { type ReactNode, useSyncExternalStore } from 'react';
import { connection } from '../api/connection';
import { problemOf } from '../api/problems';
import css from './kit.module.css';
import { ErrorBox, NotHere, Skeleton, Time } from './simple';

/** What was asked of the server, as far as it matters for showing it. */
export interface Asked<T> {
  data: T | undefined;
  error: unknown;
  dataUpdatedAt: number;
  refetch: () => unknown;
}

/** Who may not see it any more, and what was removed: what was known of it is not shown on. */
const ENDS = new Set([401, 403, 410]);

interface Props<T> {
  of: Asked<T>;
  /** The height of what will stand here. */
  lines?: number;
  children: (data: T) => ReactNode;
}

/**
 * What a call gave. Until it comes, its place; what went wrong, where there is nothing else to show.
 * What is there stays when asking again fails: greyed, with the moment that it is of and the problem beside it.
 */
export function Answer<T>({ of, lines = 6, children }: Props<T>) {
  const offline = useSyncExternalStore(connection.subscribe, connection.getLine) === 'offline';
  const retry = () => void of.refetch();
  const problem = of.error ? problemOf(of.error).body : null;
  if (problem?.status === 404) {
    const { title, detail, code } = problem;
    return <NotHere title={title} detail={detail} code={code} retry={retry} />;
  }
  if (of.data === undefined || (problem && ENDS.has(problem.status))) {
    return of.error ? <ErrorBox error={of.error} retry={retry} /> : <Skeleton lines={lines} />;
  }
  return (
    <>
      {of.error ? <Stale error={of.error} at={of.dataUpdatedAt} retry={retry} /> : null}
      <div className={css.answer} data-stale={of.error || offline ? true : undefined}>
        {children(of.data)}
      </div>
    </>
  );
}

function Stale({ error, at, retry }: { error: unknown; at: number; retry: () => void }) {
  const { title, code } = problemOf(error).body;
  return (
    <p className={css.stale} role="status">
      as of <Time at={new Date(at).toISOString()} /> · {title} <code>{code}</code>{' '}
      <button type="button" className={css.link} onClick={retry}>
        Retry
      </button>
    </p>
  );
}
