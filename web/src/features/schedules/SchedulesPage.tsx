import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState, useSyncExternalStore } from 'react';
import { ActDialog } from '../../acts/ActDialog';
import { hindrance } from '../../acts/registry';
import { SCHEDULE_ACTS, type ScheduleAct, type ScheduleView } from '../../acts/schedules';
import { me } from '../../api/calls';
import { connection } from '../../api/connection';
import { keys } from '../../api/keys';
import { problemOf } from '../../api/problems';
import { type Due, preview, type Schedule, schedules } from '../../api/schedules';
import { Button, duration, Empty, ErrorBox, number, Skeleton, State, TextField, Time } from '../../kit';
import css from './schedules.module.css';

const EVERY_MS = 5000;
const AHEAD = 10;

/** What is started by the clock: when next, and how it went. */
export function Page() {
  const found = useQuery({ queryKey: keys.schedules, queryFn: schedules, refetchInterval: EVERY_MS });
  const who = useQuery({ queryKey: keys.me, queryFn: me });
  const offline = useSyncExternalStore(connection.subscribe, connection.get).line === 'offline';
  const client = useQueryClient();
  const [asked, setAsked] = useState<{ act: ScheduleAct; view: ScheduleView } | null>(null);
  return (
    <>
      <div className={css.top}>
        <h1>Schedules</h1>
      </div>
      <div className={css.list}>
        {found.isPending ? <Skeleton lines={6} /> : null}
        {found.isError ? <ErrorBox error={found.error} retry={() => void found.refetch()} /> : null}
        {found.data?.map((one) => {
          const view = { schedule: one, may: who.data?.may ?? [], offline };
          return <Card key={one.name} view={view} onAct={(act) => setAsked({ act, view })} />;
        })}
        {found.data?.length === 0 ? (
          <Empty title="Nothing is started by the clock" command="petra apply nightly.yaml">
            <p>A document of kind Schedule names a playbook and when it is started.</p>
          </Empty>
        ) : null}
      </div>
      {asked ? (
        <ActDialog
          act={asked.act}
          view={asked.view}
          onClose={() => setAsked(null)}
          onDone={() => void client.invalidateQueries({ queryKey: keys.schedules })}
        />
      ) : null}
    </>
  );
}

/** How it is written: the line of cron, the seconds, or the one time. */
function written(one: Schedule): string {
  if (one.cron) return one.cron;
  return one.every_s ? `every ${duration(one.every_s * 1000)}` : (one.at ?? '');
}

function Card({ view, onAct }: { view: ScheduleView; onAct: (act: ScheduleAct) => void }) {
  const one = view.schedule;
  const [ahead, setAhead] = useState(false);
  return (
    <article className={`${css.card} stack tight`} aria-label={one.name}>
      <div className="row wrap">
        <h2 className="data">{one.name}</h2>
        <code>{written(one)}</code>
        <span className="muted">{one.timezone}</span>
        {one.paused ? <strong>paused</strong> : null}
        <span className="grow" />
        {SCHEDULE_ACTS.map((act) => (
          <Button key={act.id} icon={act.icon} why={hindrance(act, view)} onClick={() => onAct(act)}>
            {act.label}
          </Button>
        ))}
      </div>
      <p>
        {one.words} →{' '}
        <Link to="/p/$" params={{ _splat: one.playbook }} className="data">
          {one.playbook}
        </Link>{' '}
        <span className="muted">
          · overlap: {one.overlap} · catch up: {duration(one.catch_up_s * 1000)}
          {one.jitter_s ? ` · jitter: ${duration(one.jitter_s * 1000)}` : ''} · started {number(one.started)}{' '}
          ×
        </span>
      </p>
      {one.trouble ? (
        <p role="alert" className={`${css.trouble} data`}>
          {one.trouble}
        </p>
      ) : null}
      <Next dues={one.next} label="Due" />
      <p className="row wrap">
        <button type="button" className={css.link} aria-expanded={ahead} onClick={() => setAhead(!ahead)}>
          {ahead ? 'Fewer' : 'Look ahead'}
        </button>
        <Link to="/e/$id" params={{ id: one.execution }}>
          its own log
        </Link>
      </p>
      {ahead ? <Ahead name={one.name} /> : null}
      {one.last.length ? (
        <p className="row wrap">
          <span className="muted">last</span>
          {one.last.slice(0, 8).map((run) => (
            <Link key={run.execution} to="/e/$id" params={{ id: run.execution }} title={run.nominal}>
              <State status={run.status} />
            </Link>
          ))}
        </p>
      ) : null}
    </article>
  );
}

/** A time as the clocks of the schedule's zone show it, and here. */
function Next({ dues, label }: { dues: readonly Due[]; label: string }) {
  if (!dues.length) return <p className="muted">nothing is due any more</p>;
  return (
    <ul className={css.dues} aria-label={label}>
      {dues.map((due) => (
        <li key={due.nominal}>
          <code>{due.nominal.slice(0, 16).replace('T', ' ')}</code>{' '}
          <span className="muted">
            (<Time at={due.nominal} /> here)
          </span>
          {due.note ? <strong className={`${css.note} data`}> {due.note}</strong> : null}
        </li>
      ))}
    </ul>
  );
}

/** The next times from now on, or from any day: what a change of the clocks does to them is said. */
function Ahead({ name }: { name: string }) {
  const [from, setFrom] = useState('');
  const found = useQuery({
    queryKey: keys.preview(name, from),
    queryFn: () => preview(name, AHEAD, from),
    retry: false,
    placeholderData: (before) => before,
  });
  const wrong = found.isError ? problemOf(found.error).body.detail : null;
  return (
    <div className="stack tight">
      <TextField
        label="From"
        placeholder="now, or a day such as 2027-03-28"
        value={from}
        onChange={setFrom}
        error={wrong}
      />
      {found.isPending ? <Skeleton lines={3} /> : null}
      {found.data ? <Next dues={found.data} label="The next times" /> : null}
    </div>
  );
}
