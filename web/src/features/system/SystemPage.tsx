import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { keys } from '../../api/keys';
import { secrets, stats, tokens, users } from '../../api/running';
import { Answer, bytes, type Column, Copyable, lookOf, number, Tabs, Time, VirtualTable } from '../../kit';
import { AuditTab } from './AuditTab';
import { type SystemTab, TABS } from './search';
import css from './system.module.css';

const route = getRouteApi('/inside/system');
const LABELS: Record<SystemTab, string> = {
  store: 'Store',
  audit: 'Audit',
  secrets: 'Secrets',
  tokens: 'Tokens',
  users: 'Users',
};

/** Running it: each part behind what one may. */
export function Page() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const tab = search.tab ?? 'store';
  return (
    <>
      <div className={css.top}>
        <h1>System</h1>
      </div>
      <Tabs
        label="Parts of the system"
        tabs={TABS.map((id) => ({ id, label: LABELS[id] }))}
        value={tab}
        onChange={(next) => void navigate({ to: '/system', search: { tab: next } })}
        className={css.panel ?? ''}
      >
        {tab === 'store' ? <StoreTab /> : null}
        {tab === 'audit' ? <AuditTab actor={search.actor ?? ''} /> : null}
        {tab === 'secrets' ? <SecretsTab /> : null}
        {tab === 'tokens' ? <TokensTab /> : null}
        {tab === 'users' ? <UsersTab /> : null}
      </Tabs>
    </>
  );
}

function Numbers({ title, counted }: { title: string; counted: Record<string, number> }) {
  return (
    <section>
      <h3>{title}</h3>
      <dl className={css.facts}>
        {Object.entries(counted).map(([name, n]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{number(n)}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** States are called here as everywhere. */
function inWords(counted: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(counted).map(([status, n]) => [lookOf(status).word, n]));
}

function StoreTab() {
  const found = useQuery({ queryKey: keys.stats, queryFn: stats, refetchInterval: 10_000 });
  return (
    <Answer of={found}>
      {(data) => (
        <div className={`${css.pad} stack`}>
          <Numbers title="Executions" counted={inWords(data.executions)} />
          <Numbers title="Work items" counted={data.work_items} />
          <Numbers
            title="Kept"
            counted={{
              records: data.records,
              'wake-ups': data.wake_ups,
              'waiting to be handed out': data.pending,
            }}
          />
          <p>
            {bytes(data.bytes)} on disk
            {data.orphans ? `, ${number(data.orphans)} objects that nothing refers to any more` : ''}
          </p>
          <Copyable text="petra prune --older-than 30d --dry-run" label="the command" />
        </div>
      )}
    </Answer>
  );
}

interface ListProps<T> {
  found: UseQueryResult<T[]>;
  label: string;
  columns: Column<T>[];
  keyOf: (row: T) => string;
  line: string;
  none: string;
}

/** A list, and the line that adds to it. */
function Listed<T>({ found, label, columns, keyOf, line, none }: ListProps<T>) {
  return (
    <>
      <div className={css.pad}>
        <Copyable text={line} label="the command" />
      </div>
      <Answer of={found}>
        {(rows) => (
          <VirtualTable
            label={label}
            columns={columns}
            rows={rows}
            keyOf={keyOf}
            empty={<p className={css.pad}>{none}</p>}
          />
        )}
      </Answer>
    </>
  );
}

const data = (text: string) => <span className="data">{text}</span>;

function SecretsTab() {
  const found = useQuery({ queryKey: keys.secrets, queryFn: secrets });
  return (
    <Listed
      found={found}
      label="Secrets"
      line="petra secret set NAME"
      none="There are no secrets. A value is never shown, to nobody."
      keyOf={(row) => `${row.namespace}/${row.name}`}
      columns={[
        { id: 'name', head: 'Name', width: 'minmax(140px, 2fr)', cell: (row) => data(row.name) },
        { id: 'namespace', head: 'Namespace', width: '140px', cell: (row) => data(row.namespace) },
        {
          id: 'pools',
          head: 'Pools',
          width: 'minmax(90px, 1fr)',
          cell: (row) => data(row.pools.join(', ') || 'all'),
        },
        { id: 'version', head: 'Version', width: '80px', cell: (row) => row.version },
      ]}
    />
  );
}

function TokensTab() {
  const found = useQuery({ queryKey: keys.tokens, queryFn: tokens });
  return (
    <Listed
      found={found}
      label="Tokens"
      line="petra token create --role worker --pool default"
      none="There are no tokens."
      keyOf={(row) => row.id}
      columns={[
        { id: 'name', head: 'Name', width: 'minmax(120px, 1fr)', cell: (row) => data(row.name || row.id) },
        {
          id: 'user',
          head: 'For',
          width: 'minmax(120px, 1fr)',
          cell: (row) => data(row.user || row.roles.join(', ') || 'the owner'),
        },
        { id: 'pool', head: 'Pool', width: '110px', cell: (row) => data(row.pool || '–') },
        { id: 'used', head: 'Last used', width: '120px', cell: (row) => <Time at={row.used} /> },
        { id: 'expires', head: 'Ends', width: '120px', cell: (row) => <Time at={row.expires} /> },
        { id: 'state', head: 'State', width: '90px', cell: (row) => (row.revoked ? 'revoked' : 'valid') },
      ]}
    />
  );
}

function UsersTab() {
  const found = useQuery({ queryKey: keys.users, queryFn: users });
  return (
    <Listed
      found={found}
      label="Users"
      line="petra user add NAME --role operator@default"
      none="There are no users: whoever has this machine's owner token may do everything."
      keyOf={(row) => row.name}
      columns={[
        { id: 'name', head: 'Name', width: 'minmax(140px, 1fr)', cell: (row) => data(row.name) },
        { id: 'kind', head: 'Kind', width: '110px', cell: (row) => row.kind },
        {
          id: 'roles',
          head: 'Roles',
          width: 'minmax(140px, 2fr)',
          cell: (row) => data(row.roles.join(', ')),
        },
        {
          id: 'state',
          head: 'State',
          width: '90px',
          cell: (row) => (row.disabled ? 'disabled' : 'may come in'),
        },
        { id: 'created', head: 'Since', width: '120px', cell: (row) => <Time at={row.created} /> },
      ]}
    />
  );
}
