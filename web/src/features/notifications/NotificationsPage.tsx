import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useCallback, useState, useSyncExternalStore } from 'react';
import { me } from '../../api/calls';
import { connection } from '../../api/connection';
import { keys } from '../../api/keys';
import {
  NOTIFICATION_STATES,
  type NotificationItem,
  type NotificationState,
  notifications,
} from '../../api/notifications';
import {
  Answer,
  Button,
  type Column,
  Empty,
  Segmented,
  TextField,
  Time,
  useKeys,
  VirtualTable,
} from '../../kit';
import { NotificationPane } from './NotificationPane';
import css from './notifications.module.css';
import type { NotificationsSearch } from './search';
import { STATE_WORDS, whom } from './words';

const route = getRouteApi('/inside/notifications');
const EVERY_MS = 5000;

const data = (text: string) => <span className="data">{text}</span>;

const COLUMNS: Column<NotificationItem>[] = [
  {
    id: 'state',
    head: 'State',
    width: '110px',
    cell: (row) => (
      <span className={css.state} data-state={row.state}>
        {STATE_WORDS[row.state as NotificationState] ?? row.state}
      </span>
    ),
  },
  { id: 'title', head: 'What', width: 'minmax(160px, 3fr)', cell: (row) => data(row.title) },
  { id: 'whom', head: 'To', width: 'minmax(110px, 1fr)', cell: (row) => data(whom(row)) },
  { id: 'error', head: 'Why not', width: 'minmax(120px, 2fr)', cell: (row) => data(row.error) },
  { id: 'attempts', head: 'Tries', width: '56px', cell: (row) => row.attempts },
  { id: 'created', head: 'Written', width: '120px', cell: (row) => <Time at={row.created} /> },
];

/** What people and systems are told: what was sent, what waits, what was given up. */
export function Page() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const client = useQueryClient();
  const who = useQuery({ queryKey: keys.me, queryFn: me });
  const offline = useSyncExternalStore(connection.subscribe, connection.getLine) === 'offline';
  const { item, state, channel, execution } = search;
  const asked = { status: state, channel, execution };
  const found = useInfiniteQuery({
    queryKey: keys.notifications(asked),
    queryFn: ({ pageParam }) => notifications(asked, pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next ?? null,
    refetchInterval: EVERY_MS,
  });
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = found;
  const more = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const rows = found.data?.pages.flatMap((page) => page.items) ?? [];
  const go = (next: NotificationsSearch) =>
    void navigate({ to: '/notifications', search: { ...search, ...next }, replace: 'item' in next });
  const at = rows.findIndex((row) => row.id === item);
  const step = (by: number) => {
    const row = rows[Math.max(0, Math.min(rows.length - 1, at + by))];
    if (row) go({ item: row.id });
  };
  useKeys([
    { keys: 'j', label: 'Next', run: () => step(1) },
    { keys: 'k', label: 'The one before', run: () => step(-1) },
    { keys: 'Escape', label: 'Close it', run: () => go({ item: undefined }) },
  ]);
  const chosen = rows[at];
  return (
    <>
      <div className={css.top}>
        <h1>Notifications</h1>
        <Segmented
          label="Which"
          value={search.state ?? 'all'}
          onChange={(next) => go({ state: next === 'all' ? undefined : next, item: undefined })}
          options={[
            { value: 'all' as const, label: 'All' },
            ...NOTIFICATION_STATES.map((value) => ({ value, label: STATE_WORDS[value] })),
          ]}
        />
        <Channel
          key={search.channel ?? ''}
          value={search.channel ?? ''}
          onChange={(channel) => go({ channel: channel || undefined, item: undefined })}
        />
        {search.execution ? (
          <Button kind="quiet" onClick={() => go({ execution: undefined })}>
            of {search.execution} ✕
          </Button>
        ) : null}
      </div>
      <div className={css.body} data-open={chosen ? true : undefined}>
        <div className={css.list}>
          <Answer of={found} lines={8}>
            {() => (
              <VirtualTable
                label="Notifications"
                columns={COLUMNS}
                rows={rows}
                keyOf={(row) => row.id}
                selected={item ?? null}
                onSelect={(row) => go({ item: row.id })}
                onOpen={(row) => go({ item: row.id })}
                onEnd={more}
                empty={<Nothing search={search} onClear={() => void navigate({ to: '/notifications' })} />}
              />
            )}
          </Answer>
        </div>
        {chosen ? (
          <NotificationPane
            key={chosen.id}
            view={{ notification: chosen, may: who.data?.may ?? [], offline }}
            onClose={() => go({ item: undefined })}
            onDone={() => void client.invalidateQueries({ queryKey: ['notifications'] })}
          />
        ) : null}
      </div>
    </>
  );
}

function Channel({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const [typed, setTyped] = useState(value);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onChange(typed.trim());
      }}
    >
      <TextField hideLabel label="Channel" placeholder="channel" value={typed} onChange={setTyped} />
    </form>
  );
}

export function Nothing({ search, onClear }: { search: NotificationsSearch; onClear: () => void }) {
  if (search.state || search.channel || search.execution) {
    return <Empty title="Nothing matches" act={<Button onClick={onClear}>Show all</Button>} />;
  }
  return (
    <Empty title="Nobody was told anything yet" command="petra notifications list">
      <p>
        A playbook says under <code>executor.spec.notify</code> whom to tell of what; notify.yaml says how.
      </p>
    </Empty>
  );
}
