import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { CalendarPlus, Pencil } from 'lucide-react';
import { useState } from 'react';
import { ActDialog } from '../../acts/ActDialog';
import { offer } from '../../acts/gate';
import { SAVE_SCHEDULE, SCHEDULE_ACTS, type ScheduleAct, type ScheduleView } from '../../acts/schedules';
import { useDoer } from '../../acts/useDoer';
import { keys } from '../../api/keys';
import { type Schedule, schedules } from '../../api/schedules';
import { Answer, Button, duration, Empty, number, State, useKeys } from '../../kit';
import { EditSchedule, ScheduleEditor } from './ScheduleEditor';
import css from './schedules.module.css';
import { Ahead, Dues } from './Times';
import { median } from './words';

const EVERY_MS = 5000;
const SHOWN = 8;
const route = getRouteApi('/inside/schedules');

/** What is started by the clock; one of them to be changed, or a new one. */
export function Page() {
  const search = route.useSearch();
  if (search.edit) return <EditSchedule key={search.edit} name={search.edit} />;
  return search.new ? <ScheduleEditor name="" first={null} /> : <Schedules />;
}

/** When each is due next, and how it went. */
function Schedules() {
  const found = useQuery({ queryKey: keys.schedules, queryFn: schedules, refetchInterval: EVERY_MS });
  const doer = useDoer();
  const client = useQueryClient();
  const navigate = useNavigate();
  const draft = { ...doer, name: '', text: '', changed: true, replaces: null };
  const add = offer(SAVE_SCHEDULE, draft, () => void navigate({ to: '/schedules', search: { new: 'yes' } }));
  const edit = (name: string) => void navigate({ to: '/schedules', search: { edit: name } });
  useKeys([{ keys: 'n', label: 'New schedule', run: add.ask }]);
  const fresh = (
    <Button {...add.button} icon={CalendarPlus}>
      New schedule…
    </Button>
  );
  const [asked, setAsked] = useState<{ act: ScheduleAct; view: ScheduleView } | null>(null);
  return (
    <>
      <div className={`${css.top} row`}>
        <h1>Schedules</h1>
        <span className="grow" />
        {fresh}
      </div>
      <div className={css.list}>
        <Answer of={found}>
          {(list) => (
            <>
              {list.map((one) => {
                const view = { schedule: one, ...doer };
                return (
                  <Card
                    key={one.name}
                    view={view}
                    onAct={(act) => setAsked({ act, view })}
                    barred={add.why}
                    onEdit={() => edit(one.name)}
                  />
                );
              })}
              {list.length === 0 ? (
                <Empty title="Nothing is started by the clock" command="petra apply nightly.yaml" act={fresh}>
                  <p>A document of kind Schedule names a playbook and when it is started.</p>
                </Empty>
              ) : null}
            </>
          )}
        </Answer>
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
  if (one.every_s) return `every ${duration(one.every_s * 1000)}`;
  return [one.at ?? []].flat().join(', ');
}

interface CardProps {
  view: ScheduleView;
  onAct: (act: ScheduleAct) => void;
  /** Why this person cannot change it, where they cannot. */
  barred: string | null;
  onEdit: () => void;
}

function Card({ view, onAct, barred, onEdit }: CardProps) {
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
        <Button icon={Pencil} why={barred} onClick={onEdit}>
          Edit
        </Button>
        {SCHEDULE_ACTS.map((act) => (
          <Button key={act.id} {...offer(act, view, () => onAct(act)).button}>
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
      <Dues dues={one.next} label="Due" />
      <p className="row wrap">
        <button type="button" className={css.link} aria-expanded={ahead} onClick={() => setAhead(!ahead)}>
          {ahead ? 'Fewer' : 'Look ahead'}
        </button>
        <Link to="/e/$id" params={{ id: one.execution }}>
          its own log
        </Link>
      </p>
      {ahead ? <Ahead name={one.name} /> : null}
      <Last last={one.last} />
    </article>
  );
}

/** What came of the last ones, the newest first, and how long they took. */
function Last({ last }: { last: Schedule['last'] }) {
  if (!last.length) return null;
  const took = median(last);
  return (
    <p className="row wrap">
      <span className="muted">last</span>
      {last.slice(0, SHOWN).map((run) => (
        <Link
          key={run.execution}
          to="/e/$id"
          params={{ id: run.execution }}
          title={`${run.status} · ${run.nominal ?? run.started}`}
          className={css.outcome}
        >
          <State status={run.status} bare />
        </Link>
      ))}
      {took === null ? null : <span className="muted">{duration(took)} median</span>}
    </p>
  );
}
