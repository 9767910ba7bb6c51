import { useQuery } from '@tanstack/react-query';
import { counts } from '../../api/calls';
import { keys } from '../../api/keys';
import type { ListQuery } from '../../api/lists';
import { number, State } from '../../kit';
import css from './executions.module.css';

const ORDER = [
  'running',
  'waiting',
  'paused',
  'compensating',
  'stuck',
  'failed',
  'partial',
  'completed',
  'aborted',
];
const ALWAYS = new Set(['running', 'waiting', 'stuck', 'failed', 'completed']);

/** How many there are of each status; pressing one filters by it. */
export function StatusCounts({
  query,
  onChange,
}: {
  query: ListQuery;
  onChange: (query: ListQuery) => void;
}) {
  const without: ListQuery = { ...query, status: [] };
  const found = useQuery({
    queryKey: keys.counts(without),
    queryFn: () => counts(without, 'status'),
    placeholderData: (was) => was,
  });
  const told = found.data?.counts ?? {};
  const more = found.data?.next ? '+' : '';
  const shown = ORDER.filter((status) => ALWAYS.has(status) || told[status]);
  return (
    <div className={css.counts} role="group" aria-label="Filter by status">
      {shown.map((status) => {
        const on = query.status.includes(status);
        const next = on ? query.status.filter((one) => one !== status) : [...query.status, status];
        return (
          <button
            key={status}
            type="button"
            aria-pressed={on}
            onClick={() => onChange({ ...query, status: next })}
          >
            <State status={status} />{' '}
            <span className="muted">{found.data ? number(told[status] ?? 0) + more : '…'}</span>
          </button>
        );
      })}
    </div>
  );
}
