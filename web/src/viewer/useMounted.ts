/** Of a large graph, what is in view and around it is in the page. */
import { type Edge, type Node, useReactFlow, useStore, useStoreApi } from '@xyflow/react';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { Viewport } from './camera';
import { REST_MS } from './glide';
import { type Box, type Move, mounted, nextBox, seenOf } from './mounted';

const NONE: { nodes: Node[]; edges: Edge[] } = { nodes: [], edges: [] };

export function useMounted(nodes: Node[], edges: Edge[], isMany: boolean) {
  const room = useStoreApi();
  const flow = useReactFlow();
  const [box, setBox] = useState<Box | null>(null);
  const zoom = useRef(0);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const look = useCallback(
    (move: Move, view: Viewport) => {
      if (isMany) setBox((was) => nextBox(was, seenOf(view, room.getState()), move));
    },
    [isMany, room],
  );
  const rest = useCallback(() => look('rest', flow.getViewport()), [look, flow]);
  const follow = useCallback(
    (view: Viewport) => {
      look(view.zoom === zoom.current ? 'pan' : 'zoom', view);
      zoom.current = view.zoom;
      clearTimeout(timer.current);
      timer.current = setTimeout(rest, REST_MS);
    },
    [look, rest],
  );
  useEffect(() => () => clearTimeout(timer.current), []);
  const size = useStore((state) => `${state.width} ${state.height}`);
  // biome-ignore lint/correctness/useExhaustiveDependencies: more is seen of it in a larger window
  useEffect(rest, [rest, size]);
  const shown = useMemo(() => {
    if (!isMany) return { nodes, edges };
    return box ? mounted(nodes, edges, box) : NONE;
  }, [nodes, edges, isMany, box]);
  return { shown, follow };
}
