import { useReactFlow, useStoreApi } from '@xyflow/react';
import { Maximize, ZoomIn, ZoomOut } from 'lucide-react';
import type { Graph } from '../api/shapes';
import { IconButton, useKeys } from '../kit';
import { fitting } from './Canvas';
import css from './graph.module.css';
import type { Picture } from './picture';

interface Props {
  graph: Graph | undefined;
  child?: Picture['child'];
  /** All of it is seen now. */
  onFit?: () => void;
}

/** Closer, farther, all of it. */
export function Tools({ graph, child, onFit }: Props) {
  const flow = useReactFlow();
  const room = useStoreApi();
  const fit = () => {
    if (graph) void flow.setViewport(fitting(graph, child, room.getState()));
    onFit?.();
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
