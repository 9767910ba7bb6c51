import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { explain } from '../../api/calls';
import type { ExecutionItem } from '../../api/shapes';
import { Answer, Button, State, shortId, Time } from '../../kit';
import { Place } from '../../kit/Place';
import css from './executions.module.css';

/** One execution in short, without leaving the list. */
export function PeekPane({ row, onClose }: { row: ExecutionItem; onClose: () => void }) {
  const found = useQuery({
    queryKey: ['execution', row.id, 'peek', row.updated],
    queryFn: () => explain(row.id),
  });
  return (
    <aside className={`${css.peek} stack`} aria-label={`Peek at ${row.id}`}>
      <div className="row">
        <h2 className="grow data">{row.playbook}</h2>
        <Button kind="quiet" onClick={onClose}>
          Close
        </Button>
      </div>
      <div className="row wrap">
        <State status={row.status} reason={row.reason} />
        <Link to="/e/$id" params={{ id: row.id }} className="mono">
          {shortId(row.id)}
        </Link>
      </div>
      <p className="muted">
        started <Time at={row.started} /> · changed <Time at={row.updated} />
      </p>
      {row.reason && row.status !== 'waiting' ? <p className="data">{row.reason}</p> : null}
      <h3>Why</h3>
      <Answer of={found} lines={3}>
        {({ explanation }) => (
          <>
            {explanation.status === 'waiting' && explanation.waiting.length === 1 ? null : (
              <p className="data">{explanation.sentence}</p>
            )}
            <ul className={css.waits}>
              {explanation.waiting.slice(0, 10).map((one) => (
                <li key={one.token} className="data">
                  {one.sentence}
                  {one.queue ? <Place place={one.queue} /> : null}
                </li>
              ))}
            </ul>
          </>
        )}
      </Answer>
    </aside>
  );
}
