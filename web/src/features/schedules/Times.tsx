import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { keys } from '../../api/keys';
import { problemOf } from '../../api/problems';
import { type Due, preview } from '../../api/schedules';
import { Skeleton, TextField, Time } from '../../kit';
import css from './schedules.module.css';
import { clocks } from './words';

const AHEAD = 10;

/** The next times of a schedule that is kept, or of a text, from now on or from a day. */
export function useAhead(which: { name: string } | { text: string }, from: string) {
  return useQuery({
    queryKey: keys.ahead(which, from),
    queryFn: () => preview(which, AHEAD, from),
    retry: false,
    placeholderData: (before) => before,
  });
}

/** Times as the clocks of the schedule's zone show them, and here. */
export function Dues({ dues, label, tall = false }: { dues: readonly Due[]; label: string; tall?: boolean }) {
  if (!dues.length) return <p className="muted">nothing is due any more</p>;
  return (
    <ul className={css.dues} data-tall={tall || undefined} aria-label={label}>
      {dues.map((due) => (
        <li key={due.nominal}>
          <code>{clocks(due.nominal)}</code>{' '}
          <span className="muted">
            (<Time at={due.nominal} /> here)
          </span>
          {due.note ? <strong className={`${css.note} data`}> {due.note}</strong> : null}
        </li>
      ))}
    </ul>
  );
}

interface FromProps {
  value: string;
  onChange: (value: string) => void;
  error: unknown;
}

/** The day that is looked ahead from. */
export function From({ value, onChange, error }: FromProps) {
  return (
    <TextField
      label="From"
      placeholder="now, or a day such as 2027-03-28"
      value={value}
      onChange={onChange}
      error={error ? problemOf(error).body.detail : null}
    />
  );
}

/** The next times of a schedule that is kept: what a change of the clocks does to them is said. */
export function Ahead({ name }: { name: string }) {
  const [from, setFrom] = useState('');
  const found = useAhead({ name }, from);
  return (
    <div className="stack tight">
      <From value={from} onChange={setFrom} error={found.error} />
      {found.isPending ? <Skeleton lines={3} /> : null}
      {found.data ? <Dues dues={found.data.next} label="The next times" /> : null}
    </div>
  );
}
