import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { run as fetchRun } from '../../../api/calls';
import { keys } from '../../../api/keys';
import type { AttemptTold, Json, RunDetail } from '../../../api/shapes';
import { Answer, Button, Duration, duration, State, shortId, Time, Value } from '../../../kit';
import { isWait } from '../../../viewer/looks';
import type { View } from '../view';
import { runAsOf } from './asOf';
import css from './side.module.css';

/** One run of a step: its arguments, tries, writes, result. */
export function RunBox({ view, run }: { view: View; run: number }) {
  const bar = view.story.barOf(run);
  const found = useQuery({
    queryKey: keys.run(view.id, run, bar?.last || view.latest),
    queryFn: () => fetchRun(view.id, run),
    placeholderData: (was) => was,
  });
  return <Answer of={found}>{(told) => <RunTold view={view} told={runAsOf(told, view.seq)} />}</Answer>;
}

function RunTold({ view, told }: { view: View; told: RunDetail }) {
  const why = view.waiting.get(told.step);
  return (
    <article className="stack">
      <div className="row wrap">
        <h2 className="data">
          {told.step} <span className="muted">run {told.n}</span>
        </h2>
        <State {...(told.state === 'running' && why && isWait(why) ? waits(why) : { status: told.state })} />
        {told.ms === null ? null : <Duration ms={told.ms} />}
      </div>
      <p className="muted">
        <Time at={told.started} /> · records {told.first} to {told.last ?? '…'}
        {told.worker ? ` · ${told.worker}` : ''}
        {told.compensates ? ' · undoes what it did' : ''}
        {told.deliveries > 1 ? ` · delivered ${told.deliveries} ×` : ''}
        {told.actor ? ` · decided by ${told.actor}` : told.administrative ? ' · decided by a person' : ''}
      </p>
      {told.failure ? (
        <p className={`${css.failure} data`}>
          <b>{told.failure.kind}</b> {told.failure.message}
        </p>
      ) : null}
      {told.child ? (
        <p>
          child{' '}
          <Link to="/e/$id" params={{ id: told.child }}>
            {shortId(told.child)}
          </Link>{' '}
          <Button
            onClick={() => {
              const next = `${told.n}/${told.child}`;
              view.go({ child: view.search.child === next ? undefined : next });
            }}
          >
            {view.child?.id === told.child ? 'Close it in the graph' : 'Show it in the graph'}
          </Button>
        </p>
      ) : null}
      {told.attempts.length ? (
        <>
          <h3>Tries</h3>
          <ol className={css.history}>
            {told.attempts.map((one) => (
              <Attempt key={`${one.task} ${one.number}`} one={one} said={told.failure?.message} />
            ))}
          </ol>
        </>
      ) : null}
      {isEmpty(told.args) ? null : (
        <>
          <h3>Arguments</h3>
          <Value value={told.args} depth={1} />
        </>
      )}
      {told.state === 'done' ? (
        <>
          <h3>Result</h3>
          <Value value={told.result} depth={1} />
        </>
      ) : null}
      {told.writes.length ? (
        <>
          <h3>Wrote</h3>
          <div className="row wrap">
            {told.writes.map((write) => (
              <button
                key={write.key}
                type="button"
                className={css.chip}
                onClick={() => view.go({ sel: `ctx:${write.key}`, tab: 'ctx' })}
              >
                ctx.{write.key}
              </button>
            ))}
          </div>
        </>
      ) : null}
    </article>
  );
}

function isEmpty(value: Json): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}

const waits = ({ reason }: { reason: string }) => ({ status: 'waiting', reason });

/** Whether a rule had something to say: of what went well, and on to the next, there is nothing to tell. */
function isDecided({ status, action, rule }: AttemptTold): boolean {
  return rule != null || status !== 'ok' || action !== 'continue';
}

/** A try; what it failed of is not said again where it is said of the run. */
function Attempt({ one, said }: { one: AttemptTold; said: string | undefined }) {
  return (
    <li className="data">
      <State status={one.status === 'ok' ? 'ok' : 'failed'} bare /> {one.task} try {one.number}
      {one.duration_ms ? ` · ${duration(one.duration_ms)}` : ''}
      {isDecided(one) ? ` · ${one.action} (${one.rule == null ? 'no rule' : `rule ${one.rule + 1}`})` : ''}
      {one.delay_s ? ` after ${one.delay_s} s` : ''}
      {one.error && one.error.message !== said ? <span className="muted"> {one.error.message}</span> : null}
    </li>
  );
}
