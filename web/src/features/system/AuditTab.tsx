import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { ClipboardCheck } from 'lucide-react';
import { useState } from 'react';
import { keys } from '../../api/keys';
import { type AuditEntry, audit, auditVerified } from '../../api/running';
import {
  Button,
  type Column,
  ErrorBox,
  plural,
  Skeleton,
  TextField,
  Time,
  usePages,
  VirtualTable,
} from '../../kit';
import css from './system.module.css';

const data = (text: string) => <span className="data">{text}</span>;

const COLUMNS: Column<AuditEntry>[] = [
  { id: 'number', head: '#', width: '64px', cell: (row) => row.number },
  { id: 'at', head: 'When', width: '120px', cell: (row) => <Time at={row.at} /> },
  {
    id: 'actor',
    head: 'Who',
    width: 'minmax(100px, 1fr)',
    cell: (row) => data(row.by ? `${row.actor} by ${row.by}` : row.actor || '–'),
  },
  { id: 'act', head: 'Act', width: 'minmax(160px, 2fr)', cell: (row) => data(row.act) },
  { id: 'target', head: 'On', width: 'minmax(120px, 2fr)', cell: (row) => data(row.target) },
  {
    id: 'outcome',
    head: 'Outcome',
    width: '140px',
    cell: (row) => data(row.code ? `${row.outcome}: ${row.code}` : row.outcome),
  },
  { id: 'address', head: 'From', width: '120px', cell: (row) => data(row.address) },
];

/** Who did what, oldest first, chained by hash. */
export function AuditTab({ actor }: { actor: string }) {
  const navigate = useNavigate();
  const [typed, setTyped] = useState(actor);
  const { found, rows, more } = usePages({
    key: keys.audit(actor),
    fetch: (cursor) => audit(cursor, actor),
  });
  return (
    <>
      <div className={`${css.pad} row wrap`}>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void navigate({ to: '/system', search: { tab: 'audit', actor: typed || undefined } });
          }}
        >
          <TextField hideLabel label="Who" placeholder="who" value={typed} onChange={setTyped} />
        </form>
        <Verify />
      </div>
      {found.isPending ? <Skeleton lines={8} /> : null}
      {found.isError ? <ErrorBox error={found.error} retry={() => void found.refetch()} /> : null}
      {found.data ? (
        <VirtualTable
          label="Audit"
          columns={COLUMNS}
          rows={rows}
          keyOf={(row) => String(row.number)}
          onEnd={more}
          empty={<p className={css.pad}>Nothing was done{actor ? ` by ${actor}` : ''} yet.</p>}
        />
      ) : null}
    </>
  );
}

function Verify() {
  const verified = useMutation({ mutationFn: auditVerified });
  return (
    <>
      <Button icon={ClipboardCheck} busy={verified.isPending} onClick={() => verified.mutate()}>
        Verify the chain
      </Button>
      {verified.isError ? <ErrorBox error={verified.error} /> : null}
      {verified.data ? (
        <span role="status" data-bad={verified.data.ok ? undefined : true}>
          {verified.data.ok
            ? `the chain holds: ${plural(verified.data.entries, 'entry', 'entries')}`
            : `the chain is broken: ${verified.data.problems.join('; ')}`}
        </span>
      ) : null}
    </>
  );
}
