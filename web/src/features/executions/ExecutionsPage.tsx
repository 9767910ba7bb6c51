import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { ArrowUp, Play } from 'lucide-react';
import { useCallback, useMemo, useRef, useState } from 'react';
import { StartDialog } from '../../acts/starting/StartDialog';
import { counts, me } from '../../api/calls';
import { keys } from '../../api/keys';
import { isFiltered, type ListQuery, NO_QUERY } from '../../api/lists';
import type { ExecutionItem } from '../../api/shapes';
import {
  Button,
  Check,
  type Column,
  Duration,
  Empty,
  ErrorBox,
  plural,
  Skeleton,
  State,
  shortId,
  Time,
  useKeys,
  VirtualTable,
} from '../../kit';
import { aheadInWords } from '../../kit/limit-words';
import { BulkBar } from './BulkBar';
import css from './executions.module.css';
import { FirstVisit } from './FirstVisit';
import { PeekPane } from './PeekPane';
import { QueryBar } from './QueryBar';
import { StartsChart } from './StartsChart';
import { StatusCounts } from './StatusCounts';
import { queryOf, searchOf } from './search';
import { ROWS_MAX, useExecutions } from './useExecutions';
import { usePlaces } from './usePlaces';
import { Views } from './Views';

const route = getRouteApi('/inside/executions');
const KEYED = ['running', 'waiting', 'stuck', 'failed', 'completed'];

function took(row: ExecutionItem): number | null {
  if (!row.started) return null;
  return (row.ended ? Date.parse(row.ended) : Date.now()) - Date.parse(row.started);
}

function Now({ row, ahead }: { row: ExecutionItem; ahead: number | undefined }) {
  const progress = row.progress;
  return (
    <span className="data" title={row.now?.sentence || row.reason}>
      {ahead === undefined ? null : <strong>{aheadInWords(ahead)} · </strong>}
      {progress && progress.total > 0 ? (
        <span className={css.progress}>
          <i style={{ width: `${Math.min(100, (progress.done / progress.total) * 100)}%` }} />
        </span>
      ) : null}
      {row.now?.sentence || row.reason}
    </span>
  );
}

/** All executions: filter, look, act. */
export function Page() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const query = useMemo(() => queryOf(search), [search]);
  const { found, rows, waiting, showWaiting, more, onTop } = useExecutions(query);
  const standing = usePlaces(rows);
  const who = useQuery({ queryKey: keys.me, queryFn: me });
  const total = useQuery({ queryKey: keys.counts(query), queryFn: () => counts(query, 'status') });
  const playbooks = useQuery({
    queryKey: ['executions', 'playbooks'],
    queryFn: () => counts(NO_QUERY, 'playbook'),
  });
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [peeks, setPeeks] = useState(false);
  const [starts, setStarts] = useState(false);
  const bar = useRef<HTMLInputElement>(null);

  const ask = (next: ListQuery) => void navigate({ to: '/executions', search: searchOf(next) });
  const select = (id: string | undefined) =>
    void navigate({ to: '/executions', search: (was) => ({ ...was, sel: id }), replace: true });
  const open = (id: string) => void navigate({ to: '/e/$id', params: { id } });
  const choose = useCallback(
    (id: string) =>
      setChosen((was) => {
        const next = new Set(was);
        if (!next.delete(id)) next.add(id);
        return next;
      }),
    [],
  );
  const selected = rows.find((row) => row.id === search.sel);
  const move = (step: number) => {
    const at = rows.findIndex((row) => row.id === search.sel);
    select(rows[Math.max(0, Math.min(rows.length - 1, at + step))]?.id);
  };
  useKeys([
    { keys: '/', label: 'Filter', run: () => bar.current?.focus() },
    { keys: 's', label: 'Start an execution', run: () => setStarts(true) },
    { keys: 'j', label: 'Next row', run: () => move(1) },
    { keys: 'k', label: 'Row before', run: () => move(-1) },
    { keys: 'Enter', label: 'Open the row', run: () => search.sel && open(search.sel) },
    { keys: 'Space', label: 'Peek at the row', run: () => setPeeks(!peeks) },
    { keys: 'x', label: 'Select the row', run: () => search.sel && choose(search.sel) },
    {
      keys: 'Escape',
      label: 'Close the peek, clear the selection',
      run: () => (peeks ? setPeeks(false) : setChosen(new Set())),
    },
    ...KEYED.map((status, n) => ({
      keys: String(n + 1),
      label: `Only ${status}`,
      run: () => ask({ ...query, status: query.status.includes(status) ? [] : [status] }),
    })),
  ]);

  const columns = useMemo<Column<ExecutionItem>[]>(
    () => [
      {
        id: 'chosen',
        head: <span className="hidden">Selected</span>,
        width: '44px',
        cell: (row) => (
          <Check
            hideLabel
            label={`Select ${row.id}`}
            checked={chosen.has(row.id)}
            onChange={() => choose(row.id)}
          />
        ),
      },
      {
        id: 'status',
        head: 'Status',
        width: '150px',
        cell: (row) => <State status={row.status} reason={row.reason} />,
      },
      {
        id: 'playbook',
        head: 'Playbook',
        width: 'minmax(110px, 1fr)',
        cell: (row) => (
          <Link to="/e/$id" params={{ id: row.id }} className="data" tabIndex={-1}>
            {row.playbook}
          </Link>
        ),
      },
      { id: 'id', head: 'Id', width: '130px', cell: (row) => <code title={row.id}>{shortId(row.id)}</code> },
      {
        id: 'now',
        head: 'What now',
        width: 'minmax(160px, 3fr)',
        cell: (row) => <Now row={row} ahead={standing.get(row.id)} />,
      },
      { id: 'took', head: 'For', width: '90px', cell: (row) => <Duration ms={took(row)} /> },
      { id: 'updated', head: 'Changed', width: '120px', cell: (row) => <Time at={row.updated} /> },
      { id: 'started', head: 'Started', width: '120px', cell: (row) => <Time at={row.started} /> },
    ],
    [chosen, choose, standing],
  );

  const filtered = isFiltered(query);
  const first = found.isSuccess && rows.length === 0 && !filtered;
  const matches = total.data?.total ?? rows.length;
  return (
    <>
      <div className={css.top}>
        <h1 className="grow">Executions</h1>
        <Views query={query} current={search.view} />
        <Button icon={Play} kind="main" onClick={() => setStarts(true)} title="Start an execution (s)">
          Start…
        </Button>
      </div>
      <QueryBar
        ref={bar}
        query={query}
        onChange={ask}
        playbooks={Object.keys(playbooks.data?.counts ?? {})}
      />
      <StatusCounts query={query} onChange={ask} />
      <StartsChart query={query} onChange={ask} />
      <div className={css.list}>
        {waiting.length ? (
          <div className={css.news}>
            <Button kind="main" icon={ArrowUp} onClick={showWaiting}>
              {`${waiting.length} new`}
            </Button>
          </div>
        ) : null}
        {found.isPending ? <Skeleton lines={12} /> : null}
        {found.isError ? <ErrorBox error={found.error} retry={() => void found.refetch()} /> : null}
        {found.isSuccess && !first ? (
          <VirtualTable
            label="Executions"
            columns={columns}
            rows={rows}
            total={matches}
            keyOf={(row) => row.id}
            selected={search.sel ?? null}
            onSelect={(row) => select(row.id)}
            onOpen={(row) => open(row.id)}
            onEnd={more}
            onTop={onTop}
            empty={
              <Empty
                title="Nothing matches"
                act={<Button onClick={() => ask(NO_QUERY)}>Clear the filter</Button>}
              >
                <p>No execution fits what you ask for.</p>
              </Empty>
            }
          />
        ) : null}
        {first ? (
          <FirstVisit may={who.data?.may ?? []} onStart={() => setStarts(true)} onStarted={open} />
        ) : null}
        {peeks && selected ? <PeekPane row={selected} onClose={() => setPeeks(false)} /> : null}
      </div>
      {rows.length >= ROWS_MAX ? (
        <p className={css.bulk}>
          The first {plural(rows.length, 'row')} are shown; narrow the filter to see others.
        </p>
      ) : null}
      {chosen.size ? (
        <BulkBar
          chosen={[...chosen]}
          total={matches}
          query={query}
          may={who.data?.may ?? []}
          onClear={() => setChosen(new Set())}
        />
      ) : null}
      {starts ? <StartDialog onClose={() => setStarts(false)} onStarted={open} /> : null}
    </>
  );
}
