import { ReactFlowProvider, useReactFlow, useStoreApi } from '@xyflow/react';
import { List, Maximize, Network, ZoomIn, ZoomOut } from 'lucide-react';
import { useMemo } from 'react';
import { IconButton, Segmented, Skeleton, useKeys } from '../../../kit';
import type { View } from '../view';
import { Canvas, fitting } from './Canvas';
import { readCamera, writeCamera } from './camera';
import css from './graph.module.css';
import { StepsTable } from './StepsTable';

const LABEL = 'Steps and arcs; arrow keys walk along arcs, t shows a table';

/** The graph of the steps, or of the net; or the same as a table. */
export function GraphPane({ view }: { view: View }) {
  const { search, go, graph } = view;
  const camera = useMemo(() => readCamera(search.cam), [search.cam]);
  return (
    <section className={css.pane} aria-label="Graph" data-pane="graph">
      {search.table ? (
        <div className={css.table}>
          <StepsTable view={view} />
        </div>
      ) : (
        <ReactFlowProvider>
          {graph ? (
            <Canvas
              picture={view}
              graph={graph}
              label={LABEL}
              camera={camera}
              onCamera={(next, rests) => rests && go({ cam: writeCamera(next) }, true)}
              onChild={view.visitChild}
            />
          ) : (
            <Skeleton lines={8} />
          )}
          <Tools view={view} />
        </ReactFlowProvider>
      )}
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
      </div>
    </section>
  );
}

function Tools({ view: { graph, child, go } }: { view: View }) {
  const flow = useReactFlow();
  const room = useStoreApi();
  const fit = () => {
    if (graph) void flow.setViewport(fitting(graph, child, room.getState()));
    go({ cam: undefined }, true);
  };
  useKeys([{ keys: 'f', label: 'All of the graph', run: fit }]);
  return (
    <div className={css.tools}>
      <IconButton label="Closer" onClick={() => void flow.zoomIn()}>
        <ZoomIn size={16} />
      </IconButton>
      <IconButton label="Farther" onClick={() => void flow.zoomOut()}>
        <ZoomOut size={16} />
      </IconButton>
      <IconButton label="All of it" keys="f" onClick={fit}>
        <Maximize size={16} />
      </IconButton>
    </div>
  );
}
