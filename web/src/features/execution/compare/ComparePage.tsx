import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { ReactFlowProvider } from '@xyflow/react';
import { useCallback, useMemo, useState } from 'react';
import { asCli } from '../../../acts/copy';
import { diff as fetchDiff, graph as fetchGraph } from '../../../api/calls';
import { keys } from '../../../api/keys';
import type { Diff, Execution } from '../../../api/shapes';
import {
  Answer,
  Button,
  copy,
  ErrorBox,
  type KeyBinding,
  number,
  Skeleton,
  State,
  shortId,
  useKeys,
} from '../../../kit';
import { readSel, type Sel, writeSel } from '../../../story/sel';
import type { StoryStore } from '../../../story/store';
import { Canvas } from '../../../viewer/Canvas';
import type { Camera } from '../../../viewer/camera';
import { byStep } from '../../../viewer/looks';
import { useExplanation } from '../side/ExplainTab';
import { useShown, useStory } from '../useStory';
import { type Pair, placeOfRecord, placesOf, senseOf } from './aligned';
import css from './compare.module.css';
import { Differences } from './Differences';
import { Locked } from './Locked';

const route = getRouteApi('/inside/e/$id/diff/$other');

/** Two executions side by side: where they part, and what came of it. */
export function Page() {
  const { id, other } = route.useParams();
  const [one, two] = [useStory(id), useStory(other)];
  const version = `${one.story.version}.${two.story.version}`;
  const found = useQuery({
    queryKey: [...keys.diff(id, other), version],
    queryFn: () => fetchDiff(id, other),
    placeholderData: (was) => was,
    enabled: one.whole.data !== undefined && two.whole.data !== undefined,
  });
  return (
    <Answer of={one.whole} lines={14}>
      {(left) => (
        <Answer of={two.whole} lines={14}>
          {(right) => (
            <Answer of={found} lines={14}>
              {(told) => (
                <Shown
                  key={`${id} ${other}`}
                  sides={[
                    { head: left, story: one.story, edition: one.edition },
                    { head: right, story: two.story, edition: two.edition },
                  ]}
                  told={told}
                />
              )}
            </Answer>
          )}
        </Answer>
      )}
    </Answer>
  );
}

interface SideTold {
  head: Execution;
  story: StoryStore;
  edition: number;
}

/** Where people look first: at the first difference, or at the end where there is none. */
function firstPlace(places: readonly Pair[], told: Diff): number {
  const [left, right] = told.first_difference?.seqs ?? [];
  if (left) return placeOfRecord(places, 'left', left);
  if (right) return placeOfRecord(places, 'right', right);
  return places.length - 1;
}

function Shown({ sides, told }: { sides: [SideTold, SideTold]; told: Diff }) {
  const [one, two] = sides;
  const search = route.useSearch();
  const navigate = useNavigate();
  const params = { id: one.head.id, other: two.head.id };
  const [versionOne, versionTwo] = [one.story.version, two.story.version];
  const places = useMemo(
    () => placesOf(told.aligned, versionOne, versionTwo),
    [told.aligned, versionOne, versionTwo],
  );
  const start = firstPlace(places, told);
  const place = search.at === undefined ? Math.max(0, start) : Math.min(places.length, search.at) - 1;
  const pair = places[place] ?? { left: versionOne, right: versionTwo };
  const go = (change: { at?: number; sel?: string }, replace = true) =>
    void navigate({
      to: '/e/$id/diff/$other',
      params,
      search: (was) => ({ ...was, ...change }),
      replace,
    });
  const to = (next: number) => go({ at: Math.max(0, Math.min(places.length - 1, next)) + 1 });
  const sel = useMemo(() => readSel(search.sel), [search.sel]);
  const select = (next: Sel | null) => go({ sel: next ? writeSel(next) : undefined }, false);
  const [camera, setCamera] = useState<Camera | null>(null);
  const list: KeyBinding[] = [
    { keys: 'ArrowLeft', label: 'Record before', run: () => to(place - 1) },
    { keys: 'ArrowRight', label: 'Next record', run: () => to(place + 1) },
    { keys: 'd', label: 'First difference', run: () => go({ at: undefined }) },
    { keys: 'Escape', label: 'Select nothing', run: () => select(null) },
  ];
  useKeys(list);
  const seqs = [pair.left, pair.right] as const;
  return (
    <>
      <div className={css.head}>
        <h1 className="grow">
          Compare <code title={one.head.id}>{shortId(one.head.id)}</code> with{' '}
          <code title={two.head.id}>{shortId(two.head.id)}</code>
        </h1>
        <Button
          onClick={() =>
            void navigate({ to: '/e/$id/diff/$other', params: { id: params.other, other: params.id } })
          }
        >
          Swap
        </Button>
        <Button
          onClick={() => void copy(asCli(['diff', params.id, params.other]))}
          title="The same on the command line"
        >
          CLI
        </Button>
      </div>
      <Verdict told={told} onFirst={() => go({ at: undefined })} />
      <Locked sides={sides} places={places} place={place} first={told.same ? -1 : start} onMove={to} />
      <div className={css.graphs}>
        {sides.map((side, n) => (
          <Side
            key={side.head.id}
            side={side}
            name={n ? 'Right' : 'Left'}
            seq={seqs[n] ?? 0}
            sel={sel}
            select={select}
            camera={camera}
            onCamera={setCamera}
          />
        ))}
      </div>
      <Differences
        told={told}
        sides={[one.story, two.story]}
        seqs={[pair.left, pair.right]}
        onStep={(step) => select({ kind: 'step', step })}
      />
    </>
  );
}

function Verdict({ told, onFirst }: { told: Diff; onFirst: () => void }) {
  const first = told.first_difference;
  return (
    <div className={css.verdict} role="status" data-same={told.same || undefined}>
      <strong>{told.same ? 'They are the same' : 'They differ'}</strong>
      <span>{senseOf(told.equivalence)}</span>
      {told.same_playbook ? null : <span>· the playbooks are not the same</span>}
      {first ? (
        <Button onClick={onFirst} title="To the first difference of what they lived through (d)">
          {`First difference: record ${number(first.record)}`}
        </Button>
      ) : null}
      {first ? (
        <span className="data muted">
          {first.events[0] ?? 'nothing'} ≠ {first.events[1] ?? 'nothing'}
        </span>
      ) : null}
    </div>
  );
}

interface SideProps {
  side: SideTold;
  name: string;
  seq: number;
  sel: Sel | null;
  select: (sel: Sel | null) => void;
  camera: Camera | null;
  onCamera: (camera: Camera) => void;
}

function Side({ side, name, seq: asked, sel, select, camera, onCamera }: SideProps) {
  const { head, story, edition } = side;
  const seq = useShown(story, edition, asked);
  const graph = useQuery({
    queryKey: keys.graph(head.digest, 'step'),
    queryFn: () => fetchGraph(head.digest, 'step'),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const explained = useExplanation({ id: head.id, live: false, seq }, story.version).data;
  const waiting = useMemo(() => byStep(explained?.waiting ?? []), [explained]);
  const openChild = useCallback(() => undefined, []);
  const step = sel?.kind === 'step' ? sel.step : null;
  const picture = {
    id: head.id,
    story,
    edition,
    seq,
    sel,
    step,
    waiting,
    select,
    openChild,
    child: null,
  };
  return (
    <section className={css.side} aria-label={name}>
      <h2 className="row">
        <State status={head.status} reason={head.reason} />
        <Link to="/e/$id" params={{ id: head.id }} search={{ at: seq }} className="data cut">
          {head.playbook} {shortId(head.id)}
        </Link>
        <span className={`${css.where} muted`}>
          record {number(seq)} of {number(story.version)}
        </span>
      </h2>
      {graph.isError ? <ErrorBox error={graph.error} retry={() => void graph.refetch()} /> : null}
      <ReactFlowProvider>
        {graph.data ? (
          <Canvas
            picture={picture}
            graph={graph.data}
            label={`${name}: steps and arcs at record ${seq}`}
            camera={camera}
            onCamera={onCamera}
          />
        ) : (
          <Skeleton lines={6} />
        )}
      </ReactFlowProvider>
    </section>
  );
}
