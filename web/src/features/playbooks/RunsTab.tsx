import { Link, useNavigate } from '@tanstack/react-router';
import { executions } from '../../api/calls';
import { keys } from '../../api/keys';
import { type ListQuery, NO_QUERY } from '../../api/lists';
import type { ExecutionItem } from '../../api/shapes';
import {
  Answer,
  type Column,
  Duration,
  Empty,
  State,
  shortId,
  Time,
  usePages,
  VirtualTable,
} from '../../kit';
import css from './playbooks.module.css';

const FRESH_MS = 5_000;

const COLUMNS: Column<ExecutionItem>[] = [
  {
    id: 'status',
    head: 'Status',
    width: '170px',
    cell: (row) => <State status={row.status} reason={row.reason} />,
  },
  {
    id: 'id',
    head: 'Id',
    width: '130px',
    cell: (row) => (
      <Link to="/e/$id" params={{ id: row.id }} className="mono" title={row.id} tabIndex={-1}>
        {shortId(row.id)}
      </Link>
    ),
  },
  {
    id: 'now',
    head: 'What now',
    width: 'minmax(160px, 1fr)',
    cell: (row) => <span className="data">{row.now?.sentence || row.reason}</span>,
  },
  { id: 'took', head: 'For', width: '90px', cell: (row) => <Duration ms={tookOf(row)} /> },
  { id: 'started', head: 'Started', width: '130px', cell: (row) => <Time at={row.started} /> },
];

function tookOf({ started, ended }: ExecutionItem): number | null {
  return started && ended ? Date.parse(ended) - Date.parse(started) : null;
}

/** What was started of a playbook, the latest first; the page of all executions has the filters. */
export function RunsTab({ name }: { name: string }) {
  const navigate = useNavigate();
  const query: ListQuery = { ...NO_QUERY, playbook: name };
  const { found, rows, more } = usePages({
    key: keys.list(query),
    fetch: (cursor) => executions(query, cursor),
    staleTime: FRESH_MS,
  });
  return (
    <>
      <p className={css.pad}>
        <Link to="/executions" search={{ playbook: name }}>
          Filter them
        </Link>
      </p>
      <div className={css.list}>
        <Answer of={found} lines={6}>
          {() => (
            <VirtualTable
              label={`Executions of ${name}`}
              columns={COLUMNS}
              rows={rows}
              keyOf={(row) => row.id}
              onOpen={(row) => void navigate({ to: '/e/$id', params: { id: row.id } })}
              onEnd={more}
              empty={
                <Empty title="It was never started" command={`petra start ${name}`}>
                  <p>Start it above, or by the command.</p>
                </Empty>
              }
            />
          )}
        </Answer>
      </div>
    </>
  );
}
