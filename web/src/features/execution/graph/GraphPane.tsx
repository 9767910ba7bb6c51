import { ReactFlowProvider } from '@xyflow/react';
import { List, Network } from 'lucide-react';
import { useMemo } from 'react';
import { IconButton, number, Segmented, Skeleton } from '../../../kit';
import { usePaced } from '../../../kit/usePaced';
import { Canvas } from '../../../viewer/Canvas';
import { readCamera, writeCamera } from '../../../viewer/camera';
import css from '../../../viewer/graph.module.css';
import { isOf, lookOfStep, ONLY } from '../../../viewer/looks';
import { Tools } from '../../../viewer/Tools';
import { writersBy } from '../useWrites';
import type { View } from '../view';
import { StepsTable } from './StepsTable';

/** Who does not see the drawing is told how it stands, so often at most. */
const TOLD_MS = 5000;
const LABEL = 'Steps and arcs; arrow keys walk along arcs, t shows a table';

/** The graph of the steps, or of the net; or the same as a table. */
export function GraphPane({ view }: { view: View }) {
  const { search, go, graph } = view;
  const camera = useMemo(() => readCamera(search.cam), [search.cam]);
  const writers = useMemo(() => writersBy(view.writes, view.seq), [view.writes, view.seq]);
  return (
    <section className={css.pane} aria-label="Graph" data-pane="graph">
      <div className={css.lens}>
        <Segmented
          label="Lens"
          value={search.lens ?? 'step'}
          onChange={(lens) => go({ lens: lens === 'net' ? 'net' : undefined })}
          options={[
            { value: 'step', label: 'steps' },
            { value: 'net', label: 'net' },
          ]}
        />
        <IconButton
          label={search.table ? 'Show the graph' : 'Show as a table'}
          keys="t"
          onClick={() => go({ table: search.table ? undefined : 'yes' })}
        >
          {search.table ? <Network size={16} /> : <List size={16} />}
        </IconButton>
        <span className="grow" />
        {search.lens ? null : <Which view={view} />}
      </div>
      {search.table ? (
        <div className={css.table}>
          <StepsTable view={view} />
        </div>
      ) : (
        <div className={css.stage}>
          <ReactFlowProvider>
            {graph ? (
              <Canvas
                picture={{ ...view, only: search.only, writers }}
                graph={graph}
                label={LABEL}
                camera={camera}
                onCamera={(next, rests) => rests && go({ cam: writeCamera(next) }, true)}
                onChild={view.visitChild}
              />
            ) : (
              <Skeleton lines={8} />
            )}
            <Tools graph={graph} child={view.child} onFit={() => go({ cam: undefined }, true)} />
          </ReactFlowProvider>
        </div>
      )}
    </section>
  );
}

/** Which steps stand out: those that are active, that failed, that wait; and how many there are of each. */
function Which({ view }: { view: View }) {
  const { story, edition, seq, waiting, graph, search, go } = view;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the story changes by its edition
  const counts = useMemo(() => {
    const marking = story.markingAt(seq);
    const steps = (graph?.nodes ?? []).filter((node) => node.kind !== 'dot');
    const looks = steps.map((node) => lookOfStep(story.stepAt(seq, node.id, marking), waiting.get(node.id)));
    return new Map(ONLY.map((only) => [only, looks.filter((look) => isOf(only, look)).length]));
  }, [story, edition, seq, waiting, graph]);
  const words = ONLY.map((only) => `${only} ${number(counts.get(only) ?? 0)}`);
  const told = usePaced(`Record ${seq} of ${story.version}: steps ${words.join(', ')}`, TOLD_MS);
  return (
    <>
      <p className="hidden" aria-live="polite">
        {told}
      </p>
      <Segmented
        label="Which steps stand out"
        value={search.only ?? 'all'}
        onChange={(only) => go({ only: only === 'all' ? undefined : only }, true)}
        options={[
          { value: 'all', label: 'all' },
          ...ONLY.map((only, n) => ({ value: only, label: words[n] ?? only })),
        ]}
      />
    </>
  );
}
