import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { ClipboardCheck, Download } from 'lucide-react';
import { useState } from 'react';
import { keys } from '../../api/keys';
import { type AuditEntry, audit, auditBack, auditVerified } from '../../api/running';
import {
  Answer,
  Button,
  type Column,
  ErrorBox,
  plural,
  TextField,
  Time,
  usePages,
  VirtualTable,
} from '../../kit';
import { asLines, everything, save } from './exporting';
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
  { id: 'act', head: 'Act', width: 'minmax(200px, 4fr)', cell: (row) => data(row.act) },
  { id: 'target', head: 'On', width: 'minmax(100px, 1fr)', cell: (row) => data(row.target) },
  {
    id: 'outcome',
    head: 'Outcome',
    width: '140px',
    cell: (row) => data(row.code ? `${row.outcome}: ${row.code}` : row.outcome),
  },
  { id: 'address', head: 'From', width: '120px', cell: (row) => data(row.address) },
];

/** Who did what, the latest first, chained by hash. */
export function AuditTab({ actor }: { actor: string }) {
  const navigate = useNavigate();
  const [typed, setTyped] = useState(actor);
  const { found, rows, more } = usePages({
    key: keys.audit(actor),
    fetch: (cursor) => auditBack(cursor, actor),
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
        <Export actor={actor} />
        <Verify />
      </div>
      <Answer of={found} lines={8}>
        {() => (
          <VirtualTable
            label="Audit"
            columns={COLUMNS}
            rows={rows}
            keyOf={(row) => String(row.number)}
            onEnd={more}
            empty={<p className={css.pad}>Nothing was done{actor ? ` by ${actor}` : ''} yet.</p>}
          />
        )}
      </Answer>
    </>
  );
}

/** All entries that fit, as lines of JSON in a file. */
function Export({ actor }: { actor: string }) {
  const made = useMutation({
    mutationFn: async () => save('audit.jsonl', asLines(await everything((cursor) => audit(cursor, actor)))),
  });
  return (
    <>
      <Button icon={Download} busy={made.isPending} onClick={() => made.mutate()}>
        Export
      </Button>
      {made.isError ? <ErrorBox error={made.error} /> : null}
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
