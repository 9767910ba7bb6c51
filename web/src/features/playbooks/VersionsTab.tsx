import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { unsigned } from '../../api/authoring';
import { definition } from '../../api/calls';
import { keys } from '../../api/keys';
import { type PlaybookItem, versions } from '../../api/running';
import { Answer, ErrorBox, Skeleton, Time } from '../../kit';
import css from './playbooks.module.css';

const TextDiff = lazy(() => import('../../kit/TextDiff'));

interface Props {
  path: string;
  /** The version that runs now. */
  now: string;
  shown: string | undefined;
  against: string | undefined;
}

/** The versions of a playbook, newest first, and what changed from one to another. */
export function VersionsTab({ path, now, shown, against }: Props) {
  const found = useQuery({ queryKey: keys.versions(path), queryFn: () => versions(path) });
  return (
    <div className={`${css.pad} stack`}>
      <Answer of={found}>
        {(list) => (
          <>
            <ol className={css.versions}>
              {list.map((one, n) => (
                <Version
                  key={`${one.digest} ${one.applied}`}
                  one={one}
                  before={list[n + 1]}
                  now={now}
                  here={one.digest === shown && against !== undefined}
                />
              ))}
            </ol>
            {list.length === 1 ? (
              <p className="muted">It was applied once: there is nothing to compare.</p>
            ) : null}
          </>
        )}
      </Answer>
      {shown && against ? <Compared from={against} to={shown} /> : null}
    </div>
  );
}

interface VersionProps {
  one: PlaybookItem;
  before: PlaybookItem | undefined;
  now: string;
  here: boolean;
}

function Version({ one, before, now, here }: VersionProps) {
  return (
    <li aria-current={here || undefined}>
      <Link to="." search={{ v: one.digest, tab: 'graph' as const }}>
        <code>{one.digest.slice(0, 8)}</code>
      </Link>{' '}
      <span className="data">{one.version}</span> applied <Time at={one.applied} />
      {one.digest === now ? ' · runs now' : null}
      {before ? (
        <>
          {' · '}
          <Link to="." search={{ tab: 'versions' as const, v: one.digest, with: before.digest }}>
            what changed
          </Link>
        </>
      ) : null}
      {one.digest === now ? null : (
        <>
          {' · '}
          <Link to="." search={{ tab: 'versions' as const, v: now, with: one.digest }}>
            against the one that runs now
          </Link>
        </>
      )}
    </li>
  );
}

function useText(digest: string) {
  return useQuery({
    queryKey: keys.definition(digest),
    queryFn: () => definition(digest),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

function Compared({ from, to }: { from: string; to: string }) {
  const [before, after] = [useText(from), useText(to)];
  const broken = before.error ?? after.error;
  if (broken) return <ErrorBox error={broken} />;
  if (!before.data || !after.data) return <Skeleton lines={8} />;
  const label = `From ${from.slice(0, 8)} to ${to.slice(0, 8)}`;
  return (
    <section className="stack tight" aria-label={label}>
      <p className="muted">{label}</p>
      <Suspense fallback={<Skeleton lines={8} />}>
        <TextDiff before={unsigned(before.data.text)} after={unsigned(after.data.text)} label={label} />
      </Suspense>
    </section>
  );
}
