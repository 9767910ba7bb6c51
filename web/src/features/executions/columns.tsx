/** What a row of the list says: some of it always, the rest as the address says, or as this browser was last told. */
import { Link } from '@tanstack/react-router';
import { Square, SquareCheck } from 'lucide-react';
import type { ExecutionItem } from '../../api/shapes';
import { type Column, Duration, MenuButton, State, shortId, Time } from '../../kit';
import { aheadInWords } from '../../kit/limit-words';
import { COLS, type Col, turned } from './cols';
import css from './executions.module.css';

const HEADS: Record<Col, string> = {
  id: 'Id',
  now: 'What now',
  took: 'For',
  updated: 'Changed',
  started: 'Started',
  ended: 'Ended',
  key: 'Key',
  labels: 'Labels',
};
const WIDTHS: Record<Col, string> = {
  id: '130px',
  now: 'minmax(110px, 3fr)',
  took: '90px',
  updated: '120px',
  started: '120px',
  ended: '120px',
  key: 'minmax(90px, 1fr)',
  labels: 'minmax(110px, 1fr)',
};

/** Which columns there are, and which of them are shown. */
export function ColumnsMenu({ shown, onChange }: { shown: readonly Col[]; onChange: (cols: Col[]) => void }) {
  return (
    <MenuButton
      label="Columns"
      items={COLS.map((col) => ({
        id: col,
        label: `${shown.includes(col) ? 'Hide' : 'Show'} ‘${HEADS[col]}’`,
        icon: shown.includes(col) ? SquareCheck : Square,
        onClick: () => onChange(turned(shown, col)),
      }))}
    >
      Columns
    </MenuButton>
  );
}

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

/** Labels as they are filtered by. */
function labelsOf(row: ExecutionItem): string {
  return Object.entries(row.labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}

type Cell = Column<ExecutionItem>['cell'];

/** The columns of the list; `standing` is how many are before those that wait in a line. */
export function columnsOf(
  shown: readonly Col[],
  standing: ReadonlyMap<string, number>,
  isNarrow: boolean,
): Column<ExecutionItem>[] {
  const cells: Record<Col, Cell> = {
    id: (row) => <code title={row.id}>{shortId(row.id)}</code>,
    now: (row) => <Now row={row} ahead={standing.get(row.id)} />,
    took: (row) => <Duration ms={took(row)} />,
    updated: (row) => <Time at={row.updated} />,
    started: (row) => <Time at={row.started} />,
    ended: (row) => <Time at={row.ended} />,
    key: (row) => <span className="data">{row.business_key ?? '–'}</span>,
    labels: (row) => <span className="data">{labelsOf(row) || '–'}</span>,
  };
  return [
    {
      id: 'status',
      head: 'Status',
      width: isNarrow ? '148px' : '150px',
      cell: (row) => <State status={row.status} reason={row.reason} />,
    },
    {
      id: 'playbook',
      head: 'Playbook',
      width: isNarrow ? 'minmax(76px, 1fr)' : 'minmax(110px, 1fr)',
      cell: (row) => (
        <Link to="/e/$id" params={{ id: row.id }} className="data" tabIndex={-1}>
          {row.playbook}
        </Link>
      ),
    },
    ...shown.map((col) => ({ id: col, head: HEADS[col], width: WIDTHS[col], cell: cells[col] })),
  ];
}
