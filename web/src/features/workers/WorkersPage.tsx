import { useQuery } from '@tanstack/react-query';
import { TriangleAlert } from 'lucide-react';
import { keys } from '../../api/keys';
import { type PoolItem, pools, type WorkerItem, workers } from '../../api/running';
import { Answer, type Column, Empty, number, plural, VirtualTable } from '../../kit';
import { ExecutionLink } from '../../kit/Place';
import { LimitsCard } from './LimitsCard';
import css from './workers.module.css';

const EVERY_MS = 3000;

const COLUMNS: Column<WorkerItem>[] = [
  { id: 'name', head: 'Worker', width: 'minmax(140px, 2fr)', cell: (row) => <code>{row.name}</code> },
  {
    id: 'pool',
    head: 'Pool',
    width: 'minmax(90px, 1fr)',
    cell: (row) => <span className="data">{row.pool}</span>,
  },
  { id: 'state', head: 'State', width: '110px', cell: (row) => row.state },
  { id: 'busy', head: 'Runs', width: '90px', cell: (row) => `${row.busy} of ${row.slots}` },
  {
    id: 'has',
    head: 'Executions',
    width: 'minmax(110px, 2fr)',
    cell: (row) => <Has executions={row.executions} />,
  },
  {
    id: 'for',
    head: 'Namespaces',
    width: 'minmax(90px, 1fr)',
    cell: (row) => row.namespaces?.join(', ') ?? 'all',
  },
  {
    id: 'tools',
    head: 'Tools',
    width: 'minmax(120px, 2fr)',
    cell: (row) => {
      const kinds = row.kinds?.join(', ') ?? 'all';
      return (
        <span className="data" title={kinds}>
          {kinds}
        </span>
      );
    },
  },
  {
    id: 'labels',
    head: 'Labels',
    width: 'minmax(90px, 1fr)',
    cell: (row) => (
      <span className="data">
        {Object.entries(row.labels)
          .map(([name, value]) => `${name}=${value}`)
          .join(', ') || '–'}
      </span>
    ),
  },
  {
    id: 'version',
    head: 'Version',
    width: '90px',
    cell: (row) => <span className="data">{row.version || '–'}</span>,
  },
];

/** The executions that a worker has runs of. */
function Has({ executions }: { executions: readonly string[] }) {
  if (!executions.length) return <span className="muted">–</span>;
  return (
    <span title={executions.join(', ')}>
      {executions.map((id, n) => (
        <span key={id}>
          {n ? ', ' : ''}
          <ExecutionLink id={id} />
        </span>
      ))}
    </span>
  );
}

/** The pools with their room, and the workers that are there. */
export function Page() {
  const there = useQuery({ queryKey: keys.workers, queryFn: workers, refetchInterval: EVERY_MS });
  const room = useQuery({ queryKey: keys.pools, queryFn: pools, refetchInterval: EVERY_MS });
  return (
    <>
      <div className={css.top}>
        <h1>Workers</h1>
      </div>
      <section className={css.pools} aria-label="Pools">
        <Answer of={room} lines={2}>
          {(list) => list.map((pool) => <Pool key={pool.pool} pool={pool} />)}
        </Answer>
      </section>
      <LimitsCard />
      <div className={css.list}>
        <Answer of={there} lines={4}>
          {(rows) => (
            <VirtualTable
              label="Workers"
              columns={COLUMNS}
              rows={rows}
              keyOf={(row) => row.name}
              empty={
                <Empty title="No worker is there" command="petra worker --server URL --pool default">
                  <p>Steps wait until a worker of their pool comes.</p>
                </Empty>
              }
            />
          )}
        </Answer>
      </div>
    </>
  );
}

function Pool({ pool }: { pool: PoolItem }) {
  const share = pool.slots ? Math.min(100, (pool.busy / pool.slots) * 100) : 0;
  return (
    <article className={css.pool} data-trouble={pool.trouble ? true : undefined}>
      <h2 className="data">{pool.pool}</h2>
      <div
        className={css.bar}
        role="meter"
        aria-label={`Room of ${pool.pool}`}
        aria-valuemin={0}
        aria-valuemax={pool.slots}
        aria-valuenow={pool.busy}
      >
        <i style={{ width: `${share}%` }} />
      </div>
      <p>
        {number(pool.busy)} of {plural(pool.slots, 'slot')} · {plural(pool.workers, 'worker')} ·{' '}
        {number(pool.waiting)} waiting
        {pool.first ? (
          <>
            , first <ExecutionLink id={pool.first} />
          </>
        ) : null}
      </p>
      {pool.trouble ? (
        <p className={css.trouble}>
          <TriangleAlert size={14} aria-hidden /> <span className="data">{pool.trouble}</span>
        </p>
      ) : null}
    </article>
  );
}
