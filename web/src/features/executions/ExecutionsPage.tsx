import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { ArrowUp, Play } from 'lucide-react';
import { lazy, Suspense, useCallback, useMemo, useRef, useState } from 'react';
import { counts } from '../../api/calls';
import { keys } from '../../api/keys';
import { isFiltered, type ListQuery, NO_QUERY } from '../../api/lists';
import type { ExecutionItem } from '../../api/shapes';
import { Answer, Button, Check, type Column, Empty, plural, useKeys, VirtualTable } from '../../kit';
import { useNarrow } from '../../kit/useNarrow';
import { shownCols } from './cols';
import { ColumnsMenu, columnsOf } from './columns';
import css from './executions.module.css';
import { FirstVisit } from './FirstVisit';
import { QueryBar } from './QueryBar';
import { StartsChart } from './StartsChart';
import { StatusCounts } from './StatusCounts';
import { type ExecutionsSearch, queryOf, searchOf } from './search';
import { ROWS_MAX, useExecutions } from './useExecutions';
import { usePlaces } from './usePlaces';
import { Views } from './Views';

// a list is looked at before anything is done to it: what that takes is fetched then
const StartDialog = lazy(() =>
  import('../../acts/starting/StartDialog').then((found) => ({ default: found.StartDialog })),
);
const BulkBar = lazy(() => import('./BulkBar').then((found) => ({ default: found.BulkBar })));
const OperationBar = lazy(() => import('./OperationBar'));
const PeekPane = lazy(() => import('./PeekPane').then((found) => ({ default: found.PeekPane })));

const route = getRouteApi('/inside/executions');
const KEYED = ['running', 'waiting', 'stuck', 'failed', 'completed'];

/** All executions: filter, look, act. */
export function Page() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const query = useMemo(() => queryOf(search), [search]);
  const { found, rows, waiting, showWaiting, more, onTop } = useExecutions(query);
  const standing = usePlaces(rows);
  const total = useQuery({ queryKey: keys.counts(query), queryFn: () => counts(query, 'status') });
  const playbooks = useQuery({
    queryKey: ['executions', 'playbooks'],
    queryFn: () => counts(NO_QUERY, 'playbook'),
  });
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const peeks = search.peek === 'yes';
  const [starts, setStarts] = useState(false);
  const bar = useRef<HTMLInputElement>(null);

  /** What stays in the address whatever is asked for. */
  const { cols, op } = search;
  const isNarrow = useNarrow();
  const shown = useMemo(() => shownCols(cols, isNarrow), [cols, isNarrow]);
  const turn = (change: Partial<ExecutionsSearch>) =>
    void navigate({
      to: '/executions',
      search: (was) => ({ ...(was as ExecutionsSearch), ...change }),
      replace: true,
    });
  const ask = (next: ListQuery) =>
    void navigate({ to: '/executions', search: { ...searchOf(next), cols, op } });
  const select = (id: string | undefined) => turn({ sel: id });
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
    { keys: 'Space', label: 'Peek at the row', run: () => turn({ peek: peeks ? undefined : 'yes' }) },
    { keys: 'x', label: 'Select the row', run: () => search.sel && choose(search.sel) },
    {
      keys: 'Escape',
      label: 'Close the peek, clear the selection',
      run: () => (peeks ? turn({ peek: undefined }) : setChosen(new Set())),
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
      ...columnsOf(shown, standing, isNarrow),
    ],
    [chosen, choose, standing, shown, isNarrow],
  );

  const filtered = isFiltered(query);
  const first = found.data !== undefined && rows.length === 0 && !filtered;
  const matches = total.data?.total ?? rows.length;
  return (
    <>
      <div className={css.top}>
        <h1 className="grow">Executions</h1>
        <Views query={query} current={search.view} />
        <ColumnsMenu shown={shown} onChange={(next) => turn({ cols: next })} />
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
        <Answer of={found} lines={12}>
          {() =>
            first ? (
              <FirstVisit onStart={() => setStarts(true)} onStarted={open} />
            ) : (
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
            )
          }
        </Answer>
        <Suspense fallback={null}>
          {peeks && selected ? <PeekPane row={selected} onClose={() => turn({ peek: undefined })} /> : null}
        </Suspense>
      </div>
      {rows.length >= ROWS_MAX ? (
        <p className={css.bulk}>
          The first {plural(rows.length, 'row')} are shown; narrow the filter to see others.
        </p>
      ) : null}
      <Suspense fallback={null}>
        {op ? <OperationBar key={op} id={op} onClose={() => turn({ op: undefined })} /> : null}
      </Suspense>
      <Suspense fallback={null}>
        {chosen.size ? (
          <BulkBar
            chosen={[...chosen]}
            total={matches}
            query={query}
            onClear={() => setChosen(new Set())}
            onBegun={(id) => turn({ op: id })}
          />
        ) : null}
        {starts ? <StartDialog onClose={() => setStarts(false)} onStarted={open} /> : null}
      </Suspense>
    </>
  );
}
