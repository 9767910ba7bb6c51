import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useCallback, useMemo, useRef } from 'react';
import { me } from '../../api/calls';
import { BOXES, type Box, type ItemFilter, openOf, type WorkItem, workItemCounts } from '../../api/items';
import { keys } from '../../api/keys';
import type { Me } from '../../api/shapes';
import { Answer, Button, type Column, Empty, Name, Segmented, Time, useKeys, VirtualTable } from '../../kit';
import { dueIn } from './due';
import { Filters } from './Filters';
import { ItemPane } from './ItemPane';
import css from './inbox.module.css';
import { type InboxSearch, isNarrowed, queryOf } from './search';
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
  { id: 'due', head: 'Due', width: '110px', cell: (row) => <Due row={row} /> },
  {
    id: 'playbook',
    head: 'Playbook',
    width: 'minmax(90px, 1fr)',
    cell: (row) => <Name>{row.body.playbook ?? '–'}</Name>,
  },
  {
    id: 'who',
    head: 'Who',
    width: 'minmax(90px, 1fr)',
    cell: (row) => <span className="data">{people(row)}</span>,
  },
  { id: 'state', head: 'State', width: '90px', cell: (row) => row.state },
  { id: 'priority', head: 'Priority', width: '64px', cell: (row) => row.priority },
  { id: 'created', head: 'Asked', width: '110px', cell: (row) => <Time at={row.created} /> },
];

/** Of those that are over: what came of them, by whom, when. */
const DONE: Column<WorkItem>[] = [
  ...COLUMNS.slice(0, 1),
  {
    id: 'decision',
    head: 'Decision',
    width: 'minmax(90px, 1fr)',
    cell: (row) => <span className="data">{row.body.decision?.action ?? row.state}</span>,
  },
  {
    id: 'by',
    head: 'By',
    width: 'minmax(90px, 1fr)',
    cell: (row) => <span className="data">{row.body.decision?.actor ?? 'nobody'}</span>,
  },
  { id: 'when', head: 'When', width: '110px', cell: (row) => <Time at={row.updated} /> },
  ...COLUMNS.slice(-1),
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
  const query = queryOf(search);
  const { box } = query;
  const { found, rows, more } = useInbox(query);
  const who = useQuery({ queryKey: keys.me, queryFn: me });
  const counts = useCounts(who.data, query);
  const field = useRef<HTMLInputElement>(null);
  const go = useCallback(
    (next: Partial<InboxSearch>) =>
      void navigate({
        to: '/inbox',
        search: (was) => ({ ...(was as InboxSearch), ...next }),
        replace: next.box === undefined,
      }),
    [navigate],
  );
  const at = rows.findIndex((row) => nameOf(row) === search.item);
  const step = (by: number) => {
    const row = rows[Math.max(0, Math.min(rows.length - 1, at + by))];
    if (row) go({ item: nameOf(row) });
  };
  useKeys([
    { keys: 'j', label: 'Next work item', run: () => step(1) },
    { keys: 'k', label: 'Work item before', run: () => step(-1) },
    { keys: '/', label: 'Filter', run: () => field.current?.focus() },
    { keys: 'Escape', label: 'Close the work item', run: () => go({ item: undefined }) },
  ]);
  const narrowed = isNarrowed(query);
  const empty = useMemo(
    () => (narrowed ? <NothingFits go={go} /> : <Nothing box={box} />),
    [narrowed, box, go],
  );
  const [execution, item] = (search.item ?? '').split('/');
  return (
    <>
      <div className={css.top}>
        <h1>Inbox</h1>
        <Segmented
          label="Which work items"
          value={box}
          onChange={(next) => go({ box: next, item: undefined })}
          options={BOXES.map((value) => ({
            value,
            label: [LABELS[value], counts[value]].filter(Boolean).join(' '),
          }))}
        />
        <Filters query={query} go={go} field={field} />
      </div>
      <div className={css.body} data-open={search.item ? true : undefined}>
        <div className={css.list}>
          <Answer of={found} lines={8}>
            {() => (
              <VirtualTable
                label="Work items"
                columns={box === 'done' ? DONE : COLUMNS}
                rows={rows}
                keyOf={nameOf}
                selected={search.item ?? null}
                onSelect={(row) => go({ item: nameOf(row) })}
                onOpen={(row) => go({ item: nameOf(row) })}
                onEnd={more}
                empty={empty}
              />
            )}
          </Answer>
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

/** How many stand open of what is looked for: of mine, and of all. */
function useCounts(who: Me | undefined, { q, playbook, due }: ItemFilter): Partial<Record<Box, number>> {
  const filter = { q, playbook, due };
  const all = useQuery({
    queryKey: keys.workItemCountsOf(filter, 'all'),
    queryFn: () => workItemCounts(null, filter),
  });
  const mine = useQuery({
    queryKey: keys.workItemCountsOf(filter, 'mine'),
    queryFn: () => workItemCounts({ user: who?.name ?? '', role: [...(who?.roles ?? [])] }, filter),
    enabled: who !== undefined,
  });
  return { mine: openOf(mine.data), open: openOf(all.data) };
}

const ALL = { q: undefined, playbook: undefined, due: undefined };

function NothingFits({ go }: { go: (next: Partial<InboxSearch>) => void }) {
  return (
    <Empty title="Nothing matches" act={<Button onClick={() => go(ALL)}>Clear the filter</Button>}>
      <p>No work item here fits what you ask for.</p>
    </Empty>
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
