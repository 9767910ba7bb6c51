import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { keys } from '../../api/keys';
import { type Schedule, schedules } from '../../api/schedules';
import { Answer, type Column, Empty, Time, VirtualTable } from '../../kit';
import { dueOf } from './due';
import { Outcomes } from './Outcomes';
import css from './playbooks.module.css';

const COLUMNS: Column<Schedule>[] = [
  {
    id: 'name',
    head: 'Schedule',
    width: 'minmax(120px, 1fr)',
    cell: (row) => (
      <Link to="/schedules" search={{ edit: row.name }} className="data" tabIndex={-1}>
        {row.name}
      </Link>
    ),
  },
  {
    id: 'words',
    head: 'When',
    width: 'minmax(180px, 2fr)',
    cell: (row) => (
      <span className="data">
        {row.words} <span className="muted">{row.timezone}</span>
      </span>
    ),
  },
  {
    id: 'next',
    head: 'Next',
    width: '150px',
    cell: (row) => (dueOf(row) === null ? row.paused ? 'paused' : 'never again' : <Time at={row.due} />),
  },
  {
    id: 'last',
    head: 'Last runs',
    width: '150px',
    cell: (row) => <Outcomes last={row.last.map((run) => ({ id: run.execution, status: run.status }))} />,
  },
];

/** What starts a playbook by the clock. */
export function SchedulesTab({ path }: { path: string }) {
  const found = useQuery({ queryKey: keys.schedules, queryFn: schedules, staleTime: 30_000 });
  return (
    <Answer of={found} lines={4}>
      {(all) => (
        <div className={css.list}>
          <VirtualTable
            label={`Schedules of ${path}`}
            columns={COLUMNS}
            rows={all.filter((one) => one.playbook === path)}
            keyOf={(row) => row.name}
            empty={
              <Empty title="Nothing starts it by the clock">
                <p>A schedule names a playbook and when it is started.</p>
                <Link to="/schedules" search={{ new: 'yes' }}>
                  New schedule…
                </Link>
              </Empty>
            }
          />
        </div>
      )}
    </Answer>
  );
}
