import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ExecutionItem, Lineage } from '../../../api/shapes';
import { Answer, State, shortId, Time } from '../../../kit';
import { useLineage } from '../useLineage';
import type { View } from '../view';
import css from './side.module.css';

/** Whose past it has, who has its past, who started it and whom it started. */
export default function FamilyTab({ view }: { view: View }) {
  const found = useLineage(view.id, view.latest);
  return <Answer of={found}>{(told) => <Family view={view} told={told} />}</Answer>;
}

function Family({ view, told }: { view: View; told: Lineage }) {
  const { origin, origins, forks, parents, children } = told;
  const isAlone = !origin && !forks.length && !parents.length && !children.length;
  return (
    <div className="stack">
      {isAlone ? (
        <p className="muted">
          It was started by itself, has started nothing, and nothing was forked or run again from it.
        </p>
      ) : null}
      <Kin title="Its past is that of">
        {origin ? (
          <Relative id={origin.id} here={view.id}>
            up to record {origin.at}
            {origin.reason ? `: ${origin.reason}` : ''}
          </Relative>
        ) : null}
        {origins
          .filter((id) => id !== origin?.id)
          .map((id) => (
            <Relative key={id} id={id} here={view.id}>
              and before that
            </Relative>
          ))}
      </Kin>
      <Kin title="Forked or run again from it">
        {forks.map((row) => (
          <Relative key={row.id} id={row.id} here={view.id} row={row} />
        ))}
      </Kin>
      <Kin title="Started by">
        {parents.map((id) => (
          <Relative key={id} id={id} />
        ))}
      </Kin>
      <Kin title="It started">
        {children.map((row) => (
          <Relative key={row.id} id={row.id} row={row} />
        ))}
      </Kin>
    </div>
  );
}

function Kin({ title, children }: { title: string; children: ReactNode }) {
  const isEmpty = Array.isArray(children) ? children.flat().filter(Boolean).length === 0 : !children;
  if (isEmpty) return null;
  return (
    <section aria-label={title} className="stack tight">
      <h3>{title}</h3>
      <ul className={css.keys}>{children}</ul>
    </section>
  );
}

interface RelativeProps {
  id: string;
  /** Whom it can be compared with. */
  here?: string;
  row?: ExecutionItem;
  children?: ReactNode;
}

function Relative({ id, here, row, children }: RelativeProps) {
  return (
    <li className="row wrap">
      {row ? <State status={row.status} reason={row.reason} /> : null}
      <Link to="/e/$id" params={{ id }} className="mono" title={id}>
        {shortId(id)}
      </Link>
      {row ? (
        <span className="data">
          {row.playbook} <span className="muted">{<Time at={row.started} />}</span>
        </span>
      ) : null}
      {children ? <span className="muted data">{children}</span> : null}
      {here ? (
        <Link to="/e/$id/diff/$other" params={{ id: here, other: id }}>
          Compare
        </Link>
      ) : null}
    </li>
  );
}
