import { useQuery } from '@tanstack/react-query';
import { TriangleAlert } from 'lucide-react';
import { keys } from '../../api/keys';
import { type PoolItem, pools, type WorkerItem, workers } from '../../api/running';
import { type Column, Empty, ErrorBox, number, plural, Skeleton, VirtualTable } from '../../kit';
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
  { id: 'busy', head: 'Runs', width: '110px', cell: (row) => `${row.busy} of ${row.slots}` },
  {
    id: 'for',
    head: 'Namespaces',
    width: 'minmax(90px, 1fr)',
    cell: (row) => row.namespaces?.join(', ') ?? 'all',
  },
];

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
        {room.isPending ? <Skeleton lines={2} /> : null}
        {room.isError ? <ErrorBox error={room.error} retry={() => void room.refetch()} /> : null}
        {room.data?.map((pool) => (
          <Pool key={pool.pool} pool={pool} />
        ))}
      </section>
      <LimitsCard />
      <div className={css.list}>
        {there.isPending ? <Skeleton lines={4} /> : null}
        {there.isError ? <ErrorBox error={there.error} retry={() => void there.refetch()} /> : null}
        {there.data ? (
          <VirtualTable
            label="Workers"
            columns={COLUMNS}
            rows={there.data}
            keyOf={(row) => row.name}
            empty={
              <Empty title="No worker is there" command="petra worker --server URL --pool default">
                <p>Steps wait until a worker of their pool comes.</p>
              </Empty>
            }
          />
        ) : null}
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
      </p>
      {pool.trouble ? (
        <p className={css.trouble}>
          <TriangleAlert size={14} aria-hidden /> <span className="data">{pool.trouble}</span>
        </p>
      ) : null}
    </article>
  );
}
