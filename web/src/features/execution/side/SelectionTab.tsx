import { useQuery } from '@tanstack/react-query';
import { lazy, useMemo } from 'react';
import { ACTS } from '../../../acts/registry';
import { type EventsAsked, events, record, runs } from '../../../api/calls';
import { keys } from '../../../api/keys';
import type { Json, RunRow } from '../../../api/shapes';
import {
  Answer,
  Button,
  type Column,
  Duration,
  Empty,
  number,
  State,
  Time,
  useRested,
  Value,
  VirtualTable,
} from '../../../kit';
import type { StepFacts, StoryStore } from '../../../story/store';
import { lookOfStep } from '../../../viewer/looks';
import { saidOf } from '../log/rows';
import type { View } from '../view';
import { rowAsOf } from './asOf';
import { IterationBox } from './IterationBox';
import { itemOf } from './item';
import { LoopMap } from './LoopMap';
import { RunBox } from './RunBox';
import css from './side.module.css';
import { useMoment } from './useMoment';

// what is selected now and then is fetched then
const CtxBox = lazy(() => import('./CtxTab').then((found) => ({ default: found.CtxBox })));
const ItemBox = lazy(() => import('./ItemBox').then((found) => ({ default: found.ItemBox })));
const PlaceBox = lazy(() => import('./TokenBox').then((found) => ({ default: found.PlaceBox })));
const TokenBox = lazy(() => import('./TokenBox').then((found) => ({ default: found.TokenBox })));

/** What is selected, whatever it is. */
export function SelectionTab({ view }: { view: View }) {
  const { sel } = view;
  if (!sel) {
    return (
      <Empty title="Nothing is selected">
        <p>Click a step, an arc, a bar or a record; or walk along arcs with the arrow keys.</p>
      </Empty>
    );
  }
  switch (sel.kind) {
    case 'run':
      return (
        <div className="stack">
          <RunBox view={view} run={sel.run} />
          <LoopOf view={view} run={sel.run} />
          <StepActs view={view} />
        </div>
      );
    case 'iter':
      return (
        <div className="stack">
          <LoopOf view={view} run={sel.run} chosen={sel.n} />
          <IterationBox view={view} run={sel.run} n={sel.n} />
        </div>
      );
    case 'rec':
      return <RecordBox view={view} seq={sel.seq} />;
    case 'arc':
      return <ArcBox view={view} from={sel.from} index={sel.index} />;
    case 'step':
      return view.step ? <StepBox view={view} step={view.step} /> : null;
    case 'place':
      return <PlaceBox view={view} place={sel.place} />;
    case 'token':
      return <TokenBox view={view} token={sel.token} />;
    case 'ctx':
      return <CtxBox view={view} name={sel.key} />;
    case 'item':
      return <ItemBox view={view} item={sel.item} />;
  }
}

function LoopOf({ view, run, chosen }: { view: View; run: number; chosen?: number }) {
  const step = view.story.barOf(run)?.step;
  const node = view.graph?.nodes.find((one) => one.id === step);
  return node?.loop ? <LoopMap view={view} run={run} chosen={chosen} /> : null;
}

function StepActs({ view }: { view: View }) {
  return (
    <div className="row wrap">
      {ACTS.filter((act) => act.on === 'step').map((act) => (
        <Button key={act.id} kind={act.danger ? 'danger' : 'plain'} {...view.offer(act.id).button}>
          {`${act.label}…`}
        </Button>
      ))}
    </div>
  );
}

function StepBox({ view, step }: { view: View; step: string }) {
  const { story, seq, graph, waiting } = view;
  const facts = story.stepAt(seq, step);
  const node = graph?.nodes.find((one) => one.id === step || one.step === step);
  const look = lookOfStep(facts, waiting.get(step));
  const last = story.lastBar(step, seq);
  const loop = node?.loop ? last : undefined;
  const why = waiting.get(step);
  const asked = why ? itemOf(why) : '';
  return (
    <div className="stack">
      <div className="row wrap">
        <h2 className="data">{step}</h2>
        <State {...look} />
      </div>
      <Line
        of={[node?.tools?.join(', '), node?.loop && 'loop', node?.join && `join ${node.join}`, node?.desc]}
      />
      <Line of={tallied(facts)} isPlain />
      {why ? <p className="data">{why.sentence}</p> : null}
      {asked ? <ItemBox view={view} item={asked} isOfStep /> : null}
      {look.status === 'failed' && !last ? <FailedBefore view={view} step={step} /> : null}
      {loop ? <LoopMap view={view} run={loop.run} /> : null}
      <StepActs view={view} />
      {last && story.begunBy(step, seq) === 1 && !loop ? (
        <RunBox view={view} run={last.run} />
      ) : facts.started > 0 || !facts.failed ? (
        <Runs view={view} step={step} />
      ) : null}
    </div>
  );
}

/** Why a step failed that never began: the join before it could not complete, or its loop could not be read. */
function FailedBefore({ view, step }: { view: View; step: string }) {
  const last = useLastRecord(view, { step, level: 'important' });
  if (!last) return null;
  return (
    <p className={`${css.failure} data`}>
      {saidOf(last)}{' '}
      <button type="button" className={css.chip} onClick={() => view.select({ kind: 'rec', seq: last.seq })}>
        record {last.seq}
      </button>
    </p>
  );
}

/** What there is to say in a line, if there is anything. */
function Line({
  of,
  isPlain = false,
}: {
  of: readonly (string | false | null | undefined)[];
  isPlain?: boolean;
}) {
  const said = of.filter(Boolean).join(' · ');
  return said ? <p className={isPlain ? 'data' : 'muted data'}>{said}</p> : null;
}

/** How often it ran, once that says more than its state does. */
export function tallied({ started, done, failed, active, ready, retries }: StepFacts): string[] {
  const told = [
    [done, 'done'],
    [failed, 'failed'],
    [active, 'under way'],
    [ready, 'waiting before it'],
    [retries, 'tried again'],
  ] as const;
  const said = told.flatMap(([count, word]) => (count ? [`${number(count)} ${word}`] : []));
  return started > 1 || said.length > 1 ? [`${number(started)} started`, ...said] : [];
}

function Runs({ view, step }: { view: View; step: string }) {
  const by = useRested(Math.min(view.seq, view.latest));
  const last = view.story.stepAt(by, step).last;
  const found = useQuery({
    queryKey: keys.runs(view.id, step, last),
    queryFn: () => runs(view.id, step, by),
    placeholderData: (was) => was,
  });
  return (
    <Answer of={found} lines={4}>
      {({ items }) =>
        items.length ? (
          <RunsTable view={view} step={step} rows={items.map((row) => rowAsOf(row, by))} />
        ) : (
          <p className="muted">
            {(view.story.before(step)?.started ?? 0) > 0
              ? 'It ran in the past that was taken over; the origin has it.'
              : 'It has not run yet.'}
          </p>
        )
      }
    </Answer>
  );
}

const runColumns = (story: StoryStore): Column<RunRow>[] => [
  { id: 'n', head: 'Run', width: '56px', cell: (row) => row.n },
  {
    id: 'state',
    head: 'State',
    width: 'minmax(116px, max-content)',
    cell: (row) => (
      <span className="row" title={row.compensates ? 'It undid what an earlier run had done' : undefined}>
        <State status={row.state === 'done' && story.isInPart(row.n) ? 'partial' : row.state} />
        {row.compensates ? ' undo' : ''}
      </span>
    ),
  },
  { id: 'started', head: 'Started', width: '90px', cell: (row) => <Time at={row.started} /> },
  { id: 'ms', head: 'Took', width: '80px', cell: (row) => <Duration ms={row.ms} /> },
  {
    id: 'error',
    head: 'Error',
    width: 'minmax(100px, 1fr)',
    cell: (row) => <span className="data">{row.message}</span>,
  },
];

function RunsTable({ view, step, rows }: { view: View; step: string; rows: RunRow[] }) {
  const begun = view.story.begunBy(step, view.seq);
  const columns = useMemo(() => runColumns(view.story), [view.story]);
  return (
    <>
      {begun > rows.length ? (
        <p className="muted">{`The last ${number(rows.length)} of ${number(begun)} runs:`}</p>
      ) : null}
      <div className={css.table}>
        <VirtualTable
          label={`Runs of ${step}`}
          columns={columns}
          rows={rows}
          keyOf={(row) => String(row.n)}
          onSelect={(row) => view.select({ kind: 'run', run: row.n })}
        />
      </div>
    </>
  );
}

function RecordBox({ view, seq }: { view: View; seq: number }) {
  const found = useQuery({
    queryKey: keys.record(view.id, seq),
    queryFn: () => record(view.id, seq),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return <Answer of={found}>{(data) => <RecordTold view={view} seq={seq} data={data} />}</Answer>;
}

function RecordTold({ view, seq, data }: { view: View; seq: number; data: Json }) {
  const { story } = view;
  const told = data !== null && typeof data === 'object' && !Array.isArray(data) ? data : {};
  const step = story.stepOf(seq);
  const fork = view.offer('fork');
  return (
    <div className="stack">
      <h2>Record {seq}</h2>
      <p className="data">{String(told.text ?? story.typeOf(seq))}</p>
      <div className="row wrap">
        <Button onClick={() => view.go({ at: seq >= story.version ? undefined : seq })}>Go there</Button>
        {step ? <Button onClick={() => view.select({ kind: 'step', step })}>{step}</Button> : null}
        <Button {...fork.button} why={view.seq === seq ? fork.why : 'go there first'}>
          Fork here…
        </Button>
      </div>
      <h3>Event</h3>
      <Value value={told.event} />
      <h3>Receipt</h3>
      <Value value={told.receipt} depth={1} />
      <p className="muted mono data">{String(told.hash ?? '')}</p>
    </div>
  );
}

function ArcBox({ view, from, index }: { view: View; from: string; index: number }) {
  const arc = view.graph?.arcs.find((one) => one.from === from && one.index === index);
  const { story, seq } = view;
  const taken = story.takenAt(seq);
  const marking = story.markingAt(seq);
  let [passed, waits] = [0, 0];
  story.places.forEach((place, n) => {
    if (place.arc?.[0] !== from || place.arc[1] !== index) return;
    passed += taken[n] ?? 0;
    waits += marking[n] ?? 0;
  });
  return (
    <div className="stack">
      <h2 className="data">
        {from} → {arc?.to ?? '?'}
      </h2>
      <p>
        taken {number(passed)} × · {number(waits)} waiting at its end
      </p>
      {arc?.guard ? (
        <>
          <h3>When</h3>
          <pre className="data">{arc.guard}</pre>
          <Operands view={view} guard={arc.guard} />
        </>
      ) : (
        <p className="muted">It has no guard.</p>
      )}
      <LastTaken view={view} from={from} index={index} />
      {arc?.line ? <Button onClick={() => view.go({ tab: 'source' })}>{`Line ${arc.line}`}</Button> : null}
    </div>
  );
}

/** The variables that a guard reads, with their values at the record that is shown. */
function Operands({ view, guard }: { view: View; guard: string }) {
  const ctx = useMoment(view).data?.ctx;
  const names = [...new Set([...guard.matchAll(/\bctx\.([\w-]+)/g)].map((match) => match[1] ?? ''))];
  if (!ctx || !names.length) return null;
  return (
    <div className="row wrap">
      {names.map((name) => (
        <button
          key={name}
          type="button"
          className={`${css.chip} data`}
          onClick={() => view.go({ sel: `ctx:${name}`, tab: 'ctx' })}
        >
          ctx.{name} = {JSON.stringify(ctx[name] ?? null).slice(0, 80)}
        </button>
      ))}
    </div>
  );
}

/** The last record of some, up to the one that is shown. */
function useLastRecord(view: View, about: Pick<EventsAsked, 'step' | 'arc' | 'level'>) {
  const seq = useRested(Math.min(view.seq, view.latest));
  const asked = { ...about, before: seq + 1, limit: 1 };
  const found = useQuery({
    queryKey: keys.events(view.id, asked),
    queryFn: () => events(view.id, asked),
    placeholderData: (was) => was,
  });
  return found.data?.items.at(-1);
}

/** The last record by which an arc was taken. */
function LastTaken({ view, from, index }: { view: View; from: string; index: number }) {
  const last = useLastRecord(view, { step: from, arc: `${from}/${index}`, level: 'all' });
  if (!last) return null;
  return (
    <p>
      last <Time at={last.at} />{' '}
      <Button
        onClick={() => view.select({ kind: 'rec', seq: last.seq })}
      >{`Record ${number(last.seq)}`}</Button>
    </p>
  );
}
