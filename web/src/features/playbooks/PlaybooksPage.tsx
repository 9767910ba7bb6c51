import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { FilePlus2 } from 'lucide-react';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { offer } from '../../acts/gate';
import { APPLY } from '../../acts/playbooks';
import { useDoer } from '../../acts/useDoer';
import { useApplied } from '../../api/applied';
import { keys } from '../../api/keys';
import { type PlaybookItem, playbooks } from '../../api/running';
import { schedules } from '../../api/schedules';
import { Answer, Button, type Column, Empty, number, Time, useKeys, usePages, VirtualTable } from '../../kit';
import { Words } from '../../kit/Words';
import { dueOf, nextOf } from './due';
import { NewPlaybook } from './NewPlaybook';
import { Outcomes } from './Outcomes';
import css from './playbooks.module.css';
import { OPEN, useStanding, Verdict } from './Standing';
import { fitting, type PlaybooksSearch } from './search';

const route = getRouteApi('/inside/playbooks');

const COLUMNS: Column<PlaybookItem>[] = [
  {
    id: 'path',
    head: 'Playbook',
    width: 'minmax(140px, 2fr)',
    cell: (row) => (
      <Link to="/p/$" params={{ _splat: row.path }} className="data" tabIndex={-1}>
        {row.path}
      </Link>
    ),
  },
  { id: 'proof', head: 'Proof', width: '180px', cell: (row) => <ProofOf path={row.path} /> },
  { id: 'last', head: 'Last runs', width: 'minmax(150px, 1fr)', cell: (row) => <Last path={row.path} /> },
  { id: 'open', head: 'Open', width: '80px', cell: (row) => <Open row={row} /> },
  { id: 'next', head: 'Next', width: 'minmax(130px, 1fr)', cell: (row) => <NextDue path={row.path} /> },
  {
    id: 'version',
    head: 'Version',
    width: '80px',
    cell: (row) => <span className="data">{row.version || '–'}</span>,
  },
  {
    id: 'digest',
    head: 'Digest',
    width: '90px',
    cell: (row) => <code title={row.digest}>{row.digest.slice(0, 8)}</code>,
  },
  { id: 'applied', head: 'Applied', width: '130px', cell: (row) => <Time at={row.applied} /> },
];

function Last({ path }: { path: string }) {
  const { data } = useStanding(path);
  return data ? <Outcomes last={data.last} /> : <span className="muted">–</span>;
}

function ProofOf({ path }: { path: string }) {
  const { data } = useStanding(path);
  return data ? <Verdict proof={data.proof} /> : <span className="muted">–</span>;
}

function Open({ row }: { row: PlaybookItem }) {
  const { data } = useStanding(row.path);
  if (!data?.open) return <span className="muted">{data ? 'none' : '–'}</span>;
  return (
    <Link to="/executions" search={{ playbook: row.name, status: OPEN }} tabIndex={-1}>
      {number(data.open)} open
    </Link>
  );
}

/** When a schedule starts it next: all schedules are asked for once, for all rows. */
function NextDue({ path }: { path: string }) {
  const found = useQuery({ queryKey: keys.schedules, queryFn: schedules, staleTime: 30_000 });
  const next = nextOf(found.data ?? [], path);
  if (!next) return <span className="muted">{found.data ? 'no schedule' : '–'}</span>;
  return (
    <Link to="/schedules" search={{ edit: next.name }} title={`${next.name}: ${next.words}`} tabIndex={-1}>
      {dueOf(next) === null ? 'paused' : <Time at={next.due} />}
    </Link>
  );
}

/** The playbooks that were applied here. */
export function Page() {
  const navigate = useNavigate();
  const { sel, q = '' } = route.useSearch();
  const select = (path: string) =>
    void navigate({
      to: '/playbooks',
      search: (was) => ({ ...(was as PlaybooksSearch), sel: path }),
      replace: true,
    });
  const ask = useCallback(
    (words: string) =>
      void navigate({
        to: '/playbooks',
        search: (was) => ({ ...(was as PlaybooksSearch), q: words || undefined }),
        replace: true,
      }),
    [navigate],
  );
  const field = useRef<HTMLInputElement>(null);
  const [writes, setWrites] = useState(false);
  const draft = { path: '', text: '', replaces: null, unfit: null, ...useDoer() };
  const write = offer(APPLY, draft, () => setWrites(true));
  useKeys([
    { keys: 'n', label: 'New playbook', run: write.ask },
    { keys: '/', label: 'Filter', run: () => field.current?.focus() },
  ]);
  useApplied();
  const { found, rows, more } = usePages({ key: keys.playbookList, fetch: playbooks });
  const shown = useMemo(() => fitting(rows, q), [rows, q]);
  useEffect(() => {
    if (q) more(); // what is looked for may stand on a later page
  }, [q, more]);
  return (
    <>
      <div className={css.top}>
        <h1>Playbooks</h1>
        <span className="grow" />
        <Words ref={field} label="Filter playbooks" placeholder="path or name  /" words={q} onWords={ask} />
        <Button {...write.button} icon={FilePlus2}>
          New playbook…
        </Button>
      </div>
      {writes ? (
        <NewPlaybook
          onClose={() => setWrites(false)}
          onChosen={(path) =>
            void navigate({ to: '/edit/$', params: { _splat: path }, search: { new: 'yes' } })
          }
        />
      ) : null}
      <div className={css.list}>
        <Answer of={found} lines={8}>
          {() => (
            <VirtualTable
              label="Playbooks"
              columns={COLUMNS}
              rows={shown}
              keyOf={(row) => row.path}
              onOpen={(row) => void navigate({ to: '/p/$', params: { _splat: row.path } })}
              selected={sel}
              onSelect={(row) => select(row.path)}
              onEnd={more}
              empty={
                q ? (
                  <Empty
                    title="Nothing matches"
                    act={<Button onClick={() => ask('')}>Clear the filter</Button>}
                  />
                ) : (
                  <Empty
                    title="No playbook was applied yet"
                    command="petra init hello && petra apply hello/hello.yaml"
                  >
                    <p>
                      A playbook says in YAML what is done, in which order, and what happens when it fails.
                    </p>
                  </Empty>
                )
              }
            />
          )}
        </Answer>
      </div>
    </>
  );
}
