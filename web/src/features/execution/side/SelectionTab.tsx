import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { ACTS, hindrance } from '../../../acts/registry';
import { record, runs } from '../../../api/calls';
import { keys } from '../../../api/keys';
import type { RunRow } from '../../../api/shapes';
import {
  Button,
  type Column,
  Duration,
  Empty,
  ErrorBox,
  number,
  Skeleton,
  State,
  Time,
  useRested,
  Value,
  VirtualTable,
} from '../../../kit';
import { lookOfStep } from '../looks';
import type { View } from '../view';
import { IterationBox } from './IterationBox';
import { LoopMap } from './LoopMap';
import { RunBox } from './RunBox';
import css from './side.module.css';

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
    case 'place':
      return view.step ? <StepBox view={view} step={view.step} /> : null;
    case 'token':
    case 'ctx':
    case 'item':
      return <p className="data muted">{sel.kind}</p>;
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
        <Button
          key={act.id}
          icon={act.icon}
          kind={act.danger ? 'danger' : 'plain'}
          why={hindrance(act, view.acts)}
          onClick={() => view.act(act.id)}
        >
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
  return (
    <div className="stack">
      <div className="row wrap">
        <h2 className="data">{step}</h2>
        <State {...look} />
      </div>
      <p className="muted data">
        {[
          node?.tools?.join(', '),
          node?.loop ? 'loop' : '',
          node?.join ? `join ${node.join}` : '',
          node?.desc,
        ]
          .filter(Boolean)
          .join(' · ')}
      </p>
      <p>
        {number(facts.started)} started · {number(facts.done)} done · {number(facts.failed)} failed ·{' '}
        {number(facts.active)} under way · {number(facts.ready)} waiting before it
      </p>
      {waiting.get(step) ? <p className="data">{waiting.get(step)?.sentence}</p> : null}
      {loop ? <LoopMap view={view} run={loop.run} /> : null}
      <StepActs view={view} />
      {last && story.begunBy(step, seq) === 1 && !loop ? (
        <RunBox view={view} run={last.run} />
      ) : (
        <Runs view={view} step={step} />
      )}
    </div>
  );
}

function Runs({ view, step }: { view: View; step: string }) {
  const by = useRested(Math.min(view.seq, view.latest));
  const last = view.story.stepAt(by, step).last;
  const found = useQuery({
    queryKey: keys.runs(view.id, step, last),
    queryFn: () => runs(view.id, step, by),
    placeholderData: (was) => was,
  });
  const columns = useMemo<Column<RunRow>[]>(
    () => [
      { id: 'n', head: 'Run', width: '60px', cell: (row) => row.n },
      { id: 'state', head: 'State', width: '110px', cell: (row) => <State status={row.state} /> },
      { id: 'started', head: 'Started', width: '90px', cell: (row) => <Time at={row.started} /> },
      { id: 'ms', head: 'Took', width: '80px', cell: (row) => <Duration ms={row.ms} /> },
      {
        id: 'error',
        head: 'Error',
        width: 'minmax(100px, 1fr)',
        cell: (row) => <span className="data">{row.message}</span>,
      },
    ],
    [],
  );
  if (found.isPending) return <Skeleton lines={4} />;
  if (found.isError) return <ErrorBox error={found.error} retry={() => void found.refetch()} />;
  const rows = found.data.items;
  if (!rows.length) {
    const isBefore = (view.story.before(step)?.started ?? 0) > 0;
    return (
      <p className="muted">
        {isBefore ? 'It ran in the past that was taken over; the origin has it.' : 'It has not run yet.'}
      </p>
    );
  }
  const begun = view.story.begunBy(step, view.seq);
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
  if (found.isPending) return <Skeleton lines={6} />;
  if (found.isError) return <ErrorBox error={found.error} />;
  const { story } = view;
  const told =
    found.data !== null && typeof found.data === 'object' && !Array.isArray(found.data) ? found.data : {};
  const step = story.stepOf(seq);
  return (
    <div className="stack">
      <h2>Record {seq}</h2>
      <p className="data">{String(told.text ?? story.typeOf(seq))}</p>
      <div className="row wrap">
        <Button onClick={() => view.go({ at: seq >= story.version ? undefined : seq })}>Go there</Button>
        {step ? <Button onClick={() => view.select({ kind: 'step', step })}>{step}</Button> : null}
        <Button onClick={() => view.act('fork')} why={view.seq === seq ? null : 'go there first'}>
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
        </>
      ) : (
        <p className="muted">It has no guard.</p>
      )}
      {arc?.line ? <Button onClick={() => view.go({ tab: 'source' })}>{`Line ${arc.line}`}</Button> : null}
    </div>
  );
}
