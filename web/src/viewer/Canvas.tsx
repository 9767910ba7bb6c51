import '@xyflow/react/dist/base.css';
import {
  type EdgeTypes,
  getViewportForBounds,
  type NodeTypes,
  ReactFlow,
  useReactFlow,
  useStoreApi,
} from '@xyflow/react';
import { type KeyboardEvent, useEffect, useMemo, useRef } from 'react';
import type { Graph, GraphNode } from '../api/shapes';
import { ArcEdge, type ArcEdgeData } from './ArcEdge';
import {
  type Area,
  type Camera,
  cameraOf,
  seeing,
  sees,
  type Viewport,
  viewportOf,
  writeCamera,
  ZOOM_MAX,
  ZOOM_MIN,
} from './camera';
import { edgesOf, nodesOf, roomOf, WITHIN } from './elements';
import { Glide } from './glide';
import css from './graph.module.css';
import { DotNode, FrameNode, NetNode, StepNode } from './nodes';
import type { Picture } from './picture';
import { Travelling } from './Travelling';
import { useMounted } from './useMounted';
import { neighbour } from './walk';

const NODES: NodeTypes = {
  step: StepNode,
  dot: DotNode,
  place: NetNode,
  transition: NetNode,
  frame: FrameNode,
};
const EDGES: EdgeTypes = { arc: ArcEdge };
/** Farther away than this nobody reads: boxes are drawn without their words. */
const FAR = 0.3;
/** Smaller than this nothing is shown that somebody opens: they move to where they want to be. */
const READABLE = 0.6;
/** So far from the edge begins what does not fit. */
const TOP = 12;
/** Up to so many nodes all are in the page. */
const MANY = 400;

interface Props {
  picture: Picture;
  graph: Graph;
  label: string;
  camera: Camera | null;
  /** Somebody moved it; `rests` once the hand lets go. */
  onCamera: (camera: Camera, rests: boolean) => void;
  onChild?: (step: string) => void;
}

/** Steps and arcs, or places and transitions, as they were at a record. */
export function Canvas({ picture, graph, label, camera, onCamera, onChild }: Props) {
  const flow = useReactFlow();
  const room = useStoreApi();
  const box = useRef<HTMLDivElement>(null);
  const { story, edition, seq, waiting, step, sel, child, only, writers } = picture;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the story changes by its edition
  const nodes = useMemo(
    () => nodesOf(picture, graph),
    [story, edition, seq, waiting, step, child, only, writers, graph],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  const edges = useMemo(() => edgesOf(picture, graph), [story, edition, seq, sel, step, child, graph]);
  const byId = useMemo(() => new Map<string, GraphNode>(graph.nodes.map((node) => [node.id, node])), [graph]);
  const area = () => room.getState(); // asking the page would have it laid out anew, at every move
  const { shown, follow } = useMounted(nodes, edges, graph.nodes.length > MANY);

  const glide = useRef<Glide>(undefined);
  useEffect(() => {
    glide.current = new Glide(box.current!);
    return () => glide.current?.rest();
  }, []);
  const told = useRef('');
  const given = camera ? writeCamera(camera) : '';
  const first = useRef(given);
  const look = () => {
    if (!camera || given === told.current) return;
    if (told.current) glide.current?.move(viewportOf(camera, area())); // another hand moves it
    told.current = given;
    void flow.setViewport(viewportOf(camera, area()));
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: moved where somebody else moved it
  useEffect(look, [given]);
  const moved = (event: unknown, view: Viewport, rests: boolean) => {
    box.current?.toggleAttribute('data-far', view.zoom < FAR);
    follow(view);
    if (!event) return glide.current?.follow(view); // nobody's hand
    if (!rests) glide.current?.move(view);
    const now = cameraOf(view, area());
    told.current = writeCamera(now);
    onCamera(now, rests);
  };
  useCentred(step, byId, box, first);

  const press = (event: KeyboardEvent) => {
    if (!step || !event.key.startsWith('Arrow')) return;
    const next = neighbour(graph, step, event.key);
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    picture.select({ kind: 'step', step: next });
  };
  const click = (id: string) => {
    if (id.startsWith(WITHIN)) {
      if (id !== WITHIN) onChild?.(id.slice(WITHIN.length));
      return;
    }
    const found = byId.get(id);
    if (found?.step) picture.select({ kind: 'step', step: found.step });
  };
  return (
    <div
      ref={box}
      className={css.drawing}
      role="application"
      aria-label={label}
      tabIndex={0}
      onKeyDown={press}
    >
      <Arrow />
      <ReactFlow
        nodes={shown.nodes}
        edges={shown.edges}
        nodeTypes={NODES}
        edgeTypes={EDGES}
        onInit={() => {
          told.current = '';
          if (given) look();
          else {
            const whole = fitting(graph, child, area(), READABLE);
            void flow.setViewport(seeing(whole, area(), nodeOf(step, byId)));
          }
          follow(flow.getViewport());
        }}
        minZoom={ZOOM_MIN}
        maxZoom={ZOOM_MAX}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        deleteKeyCode={null}
        disableKeyboardA11y
        proOptions={{ hideAttribution: true }}
        onMove={(event, view) => moved(event, view, false)}
        onMoveEnd={(event, view) => moved(event, view, true)}
        onPaneClick={() => picture.select(null)}
        onNodeClick={(_, node) => click(node.id)}
        onEdgeClick={(_, edge) => {
          const arc = (edge.data as unknown as ArcEdgeData).arc;
          if (arc.index !== undefined) picture.select({ kind: 'arc', from: arc.from, index: arc.index });
        }}
      >
        <Travelling story={story} seq={seq} graph={graph} />
      </ReactFlow>
    </div>
  );
}

/** What a drawing is moved by so that all of it is seen, but no smaller than one wants it: then it is seen from its top on. */
export function fitting(graph: Graph, child: Picture['child'], area: Area, least = ZOOM_MIN): Viewport {
  const room = roomOf(graph, child);
  const view = getViewportForBounds(room, area.width, area.height, least, 1, 0.1);
  const isTall = room.height * view.zoom > area.height;
  return isTall ? { ...view, y: TOP - room.y * view.zoom } : view;
}

/** Where a step stands; in a net, where its runs are. */
function nodeOf(step: string | null, byId: ReadonlyMap<string, GraphNode>): GraphNode | undefined {
  if (!step) return undefined;
  return byId.get(step) ?? byId.get(`p:${step}.running`) ?? byId.get(`p:${step}.ready`);
}

/** Bring the selected step into view, unless it is, or the address said where to look. */
function useCentred(
  step: string | null,
  byId: ReadonlyMap<string, GraphNode>,
  box: { current: HTMLDivElement | null },
  given: { current: string },
): void {
  const flow = useReactFlow();
  useEffect(() => {
    const isGiven = given.current !== '';
    given.current = '';
    const node = nodeOf(step, byId);
    const area = box.current?.getBoundingClientRect();
    if (isGiven || !node || !area) return;
    const view = flow.getViewport();
    if (!sees(view, area, node)) void flow.setViewport(seeing(view, area, node), { duration: 120 });
  }, [step, byId, flow, box, given]);
}

function Arrow() {
  return (
    <svg className="hidden" aria-hidden="true">
      <defs>
        <marker
          id="petra-arrow"
          viewBox="0 0 8 8"
          refX={7}
          refY={4}
          markerUnits="userSpaceOnUse"
          markerWidth={9}
          markerHeight={9}
          orient="auto"
        >
          <path d="M0,0 L8,4 L0,8 Z" fill="context-stroke" />
        </marker>
      </defs>
    </svg>
  );
}
