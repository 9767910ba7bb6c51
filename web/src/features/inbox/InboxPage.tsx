import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import { me } from '../../api/calls';
import { BOXES, type Box, type WorkItem } from '../../api/items';
import { keys } from '../../api/keys';
import { type Column, Empty, ErrorBox, Segmented, Skeleton, Time, useKeys, VirtualTable } from '../../kit';
import { dueIn } from './due';
import { ItemPane } from './ItemPane';
import css from './inbox.module.css';
import { useInbox } from './useInbox';

const route = getRouteApi('/inside/inbox');
const LABELS: Record<Box, string> = { mine: 'Mine', open: 'Open', done: 'Done', all: 'All' };
const nameOf = (row: WorkItem) => `${row.execution}/${row.id}`;

/** Who has it, or who is asked. */
export function people(row: WorkItem): string {
  if (row.holder) return row.holder;
  const asked = [...row.users, ...row.roles.map((role) => `role ${role}`)];
  return asked.length ? asked.join(', ') : 'anybody';
}

const COLUMNS: Column<WorkItem>[] = [
  {
    id: 'title',
    head: 'What',
    width: 'minmax(160px, 3fr)',
    cell: (row) => <span className="data">{row.title}</span>,
  },
  { id: 'state', head: 'State', width: '90px', cell: (row) => row.state },
  {
    id: 'who',
    head: 'Who',
    width: 'minmax(90px, 1fr)',
    cell: (row) => <span className="data">{people(row)}</span>,
  },
  { id: 'due', head: 'Due', width: '110px', cell: (row) => <Due row={row} /> },
  { id: 'priority', head: 'Priority', width: '64px', cell: (row) => row.priority },
  { id: 'created', head: 'Asked', width: '110px', cell: (row) => <Time at={row.created} /> },
];

function Due({ row }: { row: WorkItem }) {
  const due = dueIn(row.due, Date.now());
  return (
    <span data-late={due.late || undefined} className={css.due}>
      {due.text}
    </span>
  );
}

/** What people are asked to do: the list, and the one that is looked at. */
export function Page() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const box = search.box ?? 'open';
  const { found, rows, more } = useInbox(box);
  const who = useQuery({ queryKey: keys.me, queryFn: me });
  const go = (next: { box?: Box; item?: string | undefined }) =>
    void navigate({ to: '/inbox', search: (was) => ({ ...was, ...next }), replace: next.box === undefined });
  const at = rows.findIndex((row) => nameOf(row) === search.item);
  const step = (by: number) => {
    const row = rows[Math.max(0, Math.min(rows.length - 1, at + by))];
    if (row) go({ item: nameOf(row) });
  };
  useKeys([
    { keys: 'j', label: 'Next work item', run: () => step(1) },
    { keys: 'k', label: 'Work item before', run: () => step(-1) },
    { keys: 'Escape', label: 'Close the work item', run: () => go({ item: undefined }) },
  ]);
  const empty = useMemo(() => <Nothing box={box} />, [box]);
  const [execution, item] = (search.item ?? '').split('/');
  return (
    <>
      <div className={css.top}>
        <h1>Inbox</h1>
        <Segmented
          label="Which work items"
          value={box}
          onChange={(next) => go({ box: next, item: undefined })}
          options={BOXES.map((value) => ({ value, label: LABELS[value] }))}
        />
      </div>
      <div className={css.body} data-open={search.item ? true : undefined}>
        <div className={css.list}>
          {found.isPending ? <Skeleton lines={8} /> : null}
          {found.isError ? <ErrorBox error={found.error} retry={() => void found.refetch()} /> : null}
          {found.isSuccess ? (
            <VirtualTable
              label="Work items"
              columns={COLUMNS}
              rows={rows}
              keyOf={nameOf}
              selected={search.item ?? null}
              onSelect={(row) => go({ item: nameOf(row) })}
              onOpen={(row) => go({ item: nameOf(row) })}
              onEnd={more}
              empty={empty}
            />
          ) : null}
        </div>
        {execution && item && who.data ? (
          <ItemPane
            key={search.item}
            execution={execution}
            id={item}
            who={who.data}
            onClose={() => go({ item: undefined })}
          />
        ) : null}
      </div>
    </>
  );
}

function Nothing({ box }: { box: Box }) {
  if (box === 'done') return <Empty title="Nothing has been decided yet" />;
  return (
    <Empty
      title={box === 'mine' ? 'Nobody asks you anything' : 'Nobody is asked anything'}
      command="petra run examples/approval.yaml"
    >
      <p>A step of kind human asks people; what it asks stands here until somebody answers.</p>
    </Empty>
  );
}
