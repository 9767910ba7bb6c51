import '@xyflow/react/dist/base.css';
import {
  type Edge,
  type EdgeTypes,
  type Node,
  type NodeTypes,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
} from '@xyflow/react';
import { List, Maximize, Network, ZoomIn, ZoomOut } from 'lucide-react';
import { type KeyboardEvent, useEffect, useMemo, useRef } from 'react';
import type { Graph, GraphNode } from '../../../api/shapes';
import { IconButton, Segmented, Skeleton, useKeys } from '../../../kit';
import { lookOfStep } from '../looks';
import type { View } from '../view';
import { ArcEdge, type ArcEdgeData } from './ArcEdge';
import css from './graph.module.css';
import { DotNode, NetNode, StepNode, type StepNodeData } from './nodes';
import { StepsTable } from './StepsTable';
import { neighbour } from './walk';

const NODES: NodeTypes = { step: StepNode, dot: DotNode, place: NetNode, transition: NetNode };
const EDGES: EdgeTypes = { arc: ArcEdge };

/** The graph of the steps, or of the net; or the same as a table. */
export function GraphPane({ view }: { view: View }) {
  const { search, go, graph } = view;
  return (
    <section className={css.pane} aria-label="Graph" data-pane="graph">
      {search.table ? (
        <StepsTable view={view} />
      ) : (
        <ReactFlowProvider>
          {graph ? <Drawing view={view} graph={graph} /> : <Skeleton lines={8} />}
          <Tools />
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

function Tools() {
  const flow = useReactFlow();
  const fit = () => void flow.fitView({ padding: 0.1, maxZoom: 1 });
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

function nodesOf(view: View, graph: Graph): Node[] {
  const { story, seq, waiting, step } = view;
  const marking = story.markingAt(seq);
  const inPlace = new Map<string, number>();
  story.places.forEach((place, n) => {
    const name = `p:${place.step}.${place.kind}`;
    inPlace.set(name, (inPlace.get(name) ?? 0) + (marking[n] ?? 0));
  });
  return graph.nodes.map((node) => {
    const position = { x: node.x, y: node.y };
    const shared = {
      id: node.id,
      position,
      width: node.w,
      height: node.h,
      selectable: false,
      draggable: false,
    };
    if (node.kind === 'dot') return { ...shared, type: 'dot', data: {} };
    if (graph.lens === 'net') {
      const data = { node, tokens: inPlace.get(node.id) ?? 0, selected: node.step === step };
      return { ...shared, type: node.kind === 'place' ? 'place' : 'transition', data };
    }
    const facts = story.stepAt(seq, node.id, marking);
    const look = lookOfStep(facts, waiting.get(node.id));
    const data: StepNodeData = {
      node,
      facts,
      look,
      selected: node.id === step,
      sentence: waiting.get(node.id)?.sentence,
    };
    return { ...shared, type: 'step', data: data as unknown as Record<string, unknown> };
  });
}

function edgesOf(view: View, graph: Graph): Edge[] {
  const { story, seq, sel } = view;
  const marking = story.markingAt(seq);
  const taken = story.takenAt(seq);
  const waits = new Map<string, number>();
  const passed = new Map<string, number>();
  story.places.forEach((place, n) => {
    if (!place.arc) return;
    const name = `${place.arc[0]}/${place.arc[1]}>${place.step}`;
    waits.set(name, (waits.get(name) ?? 0) + (marking[n] ?? 0));
    passed.set(name, (passed.get(name) ?? 0) + (taken[n] ?? 0));
  });
  return graph.arcs.map((arc, n) => {
    const name = `${arc.from}/${arc.index}>${arc.to}`;
    const isSelected = sel?.kind === 'arc' && sel.from === arc.from && sel.index === arc.index;
    const data: ArcEdgeData = {
      arc,
      tokens: waits.get(name) ?? 0,
      taken: graph.lens === 'net' ? -1 : (passed.get(name) ?? (arc.index === undefined ? 1 : 0)),
      selected: isSelected || (view.step !== null && (arc.from === view.step || arc.to === view.step)),
    };
    return {
      id: `${n} ${name}`,
      source: arc.from,
      target: arc.to,
      type: 'arc',
      data: data as unknown as Record<string, unknown>,
      focusable: false,
      selectable: arc.index !== undefined,
    };
  });
}

function Drawing({ view, graph }: { view: View; graph: Graph }) {
  const flow = useReactFlow();
  const box = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the story changes by its edition
  const nodes = useMemo(
    () => nodesOf(view, graph),
    [view.story, view.edition, view.seq, view.waiting, view.step, graph],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  const edges = useMemo(
    () => edgesOf(view, graph),
    [view.story, view.edition, view.seq, view.sel, view.step, graph],
  );
  const byId = useMemo(() => new Map<string, GraphNode>(graph.nodes.map((node) => [node.id, node])), [graph]);
  const step = view.step;
  useEffect(() => {
    const node = step ? (byId.get(step) ?? byId.get(`p:${step}.ready`)) : undefined;
    const area = box.current?.getBoundingClientRect();
    if (!node || !area) return;
    const { x, y, zoom } = flow.getViewport();
    const [left, top] = [node.x * zoom + x, node.y * zoom + y];
    const isIn =
      left >= 0 && top >= 0 && left + node.w * zoom <= area.width && top + node.h * zoom <= area.height;
    if (!isIn) void flow.setCenter(node.x + node.w / 2, node.y + node.h / 2, { zoom, duration: 120 });
  }, [step, byId, flow]);
  const press = (event: KeyboardEvent) => {
    if (!step || !event.key.startsWith('Arrow')) return;
    const next = neighbour(graph, step, event.key);
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    view.select({ kind: 'step', step: next });
  };
  return (
    <div
      ref={box}
      className={css.drawing}
      role="application"
      aria-label="Steps and arcs; arrow keys walk along arcs, t shows a table"
      tabIndex={0}
      onKeyDown={press}
    >
      <svg className="hidden" aria-hidden="true">
        <defs>
          <marker
            id="petra-arrow"
            viewBox="0 0 8 8"
            refX={7}
            refY={4}
            markerWidth={7}
            markerHeight={7}
            orient="auto"
          >
            <path d="M0,0 L8,4 L0,8 Z" fill="context-stroke" />
          </marker>
        </defs>
      </svg>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={NODES}
        edgeTypes={EDGES}
        fitView
        fitViewOptions={{ padding: 0.1, minZoom: 0.6, maxZoom: 1 }}
        minZoom={0.05}
        maxZoom={2}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        deleteKeyCode={null}
        disableKeyboardA11y
        onlyRenderVisibleElements={graph.nodes.length > 200}
        proOptions={{ hideAttribution: true }}
        onPaneClick={() => view.select(null)}
        onNodeClick={(_, node) => {
          const found = byId.get(node.id);
          if (found?.step) view.select({ kind: 'step', step: found.step });
        }}
        onEdgeClick={(_, edge) => {
          const arc = (edge.data as unknown as ArcEdgeData).arc;
          if (arc.index !== undefined) view.select({ kind: 'arc', from: arc.from, index: arc.index });
        }}
      />
    </div>
  );
}
