import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { FilePlus2 } from 'lucide-react';
import { useState } from 'react';
import { APPLY } from '../../acts/playbooks';
import { hindrance } from '../../acts/registry';
import { useDoer } from '../../acts/useDoer';
import { keys } from '../../api/keys';
import { heat, type PlaybookItem, playbooks } from '../../api/running';
import {
  Button,
  type Column,
  Empty,
  ErrorBox,
  Skeleton,
  Time,
  useKeys,
  usePages,
  VirtualTable,
} from '../../kit';
import { NewPlaybook } from './NewPlaybook';
import { Outcomes } from './Outcomes';
import css from './playbooks.module.css';

const COLUMNS: Column<PlaybookItem>[] = [
  {
    id: 'path',
    head: 'Playbook',
    width: 'minmax(160px, 2fr)',
    cell: (row) => (
      <Link to="/p/$" params={{ _splat: row.path }} className="data" tabIndex={-1}>
        {row.path}
      </Link>
    ),
  },
  {
    id: 'version',
    head: 'Version',
    width: '90px',
    cell: (row) => <span className="data">{row.version || '–'}</span>,
  },
  {
    id: 'digest',
    head: 'Digest',
    width: '90px',
    cell: (row) => <code title={row.digest}>{row.digest.slice(0, 8)}</code>,
  },
  { id: 'last', head: 'Last runs', width: 'minmax(150px, 2fr)', cell: (row) => <Last path={row.path} /> },
  { id: 'applied', head: 'Applied', width: '130px', cell: (row) => <Time at={row.applied} /> },
];

function Last({ path }: { path: string }) {
  const found = useQuery({ queryKey: keys.heat(path), queryFn: () => heat(path), staleTime: 10_000 });
  return found.data ? <Outcomes last={found.data.last.slice(0, 20)} /> : <span className="muted">–</span>;
}

/** The playbooks that were applied here. */
export function Page() {
  const navigate = useNavigate();
  const [writes, setWrites] = useState(false);
  const barred = hindrance(APPLY, { path: '', text: '', replaces: null, unfit: null, ...useDoer() });
  useKeys([{ keys: 'n', label: 'New playbook', run: () => setWrites(!barred) }]);
  const { found, rows, more } = usePages({ key: keys.playbookList, fetch: playbooks });
  return (
    <>
      <div className={css.top}>
        <h1>Playbooks</h1>
        <span className="grow" />
        <Button icon={FilePlus2} why={barred} onClick={() => setWrites(true)}>
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
        {found.isPending ? <Skeleton lines={8} /> : null}
        {found.isError ? <ErrorBox error={found.error} retry={() => void found.refetch()} /> : null}
        {found.data ? (
          <VirtualTable
            label="Playbooks"
            columns={COLUMNS}
            rows={rows}
            keyOf={(row) => row.path}
            onOpen={(row) => void navigate({ to: '/p/$', params: { _splat: row.path } })}
            onSelect={(row) => void navigate({ to: '/p/$', params: { _splat: row.path } })}
            onEnd={more}
            empty={
              <Empty
                title="No playbook was applied yet"
                command="petra init hello && petra apply hello/hello.yaml"
              >
                <p>A playbook says in YAML what is done, in which order, and what happens when it fails.</p>
              </Empty>
            }
          />
        ) : null}
      </div>
    </>
  );
}
