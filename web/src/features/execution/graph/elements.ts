/** What is drawn of a story at a record: nodes and edges, with the positions that the server gave. */
import { type Edge, type Node, Position } from '@xyflow/react';
import type { Graph, GraphNode, WaitingTold } from '../../../api/shapes';
import { arcName, type StoryStore } from '../../../story/store';
import type { Child } from '../child';
import { lookOfStep } from '../looks';
import type { View } from '../view';
import type { ArcEdgeData } from './ArcEdge';
import type { StepNodeData } from './nodes';

export type Picture = Pick<
  View,
  'id' | 'story' | 'edition' | 'seq' | 'sel' | 'step' | 'waiting' | 'select' | 'openChild'
> & { child?: View['child'] };

/** What stands before the names of the nodes of a child. */
export const WITHIN = 'child:';
const PAD = 20;
const TITLE = 28;
const GAP = 90;

interface Shown {
  id: string;
  story: StoryStore;
  seq: number;
  waiting: ReadonlyMap<string, WaitingTold>;
}

/** Arcs have their own points, so it does not matter where these are; a node without them would have to be measured. */
const ENDS: Node['handles'] = [
  { type: 'target', position: Position.Top, x: 0, y: 0 },
  { type: 'source', position: Position.Bottom, x: 0, y: 0 },
];

function placed(id: string, x: number, y: number, width: number, height: number) {
  const size = { width, height };
  return {
    id,
    position: { x, y },
    ...size,
    measured: size,
    handles: ENDS,
    selectable: false,
    draggable: false,
  };
}

function boxOf(node: GraphNode) {
  return placed(node.id, node.x, node.y, node.w, node.h);
}

function stepNode(node: GraphNode, shown: Shown, marking: Int32Array, more: Partial<StepNodeData>): Node {
  const facts = shown.story.stepAt(shown.seq, node.id, marking);
  const bar = shown.story.lastBar(node.id, shown.seq);
  const loop = node.loop ? bar : undefined;
  const isOver = bar !== undefined && bar.last > 0 && bar.last <= shown.seq;
  const waits = shown.waiting.get(node.id);
  const data: StepNodeData = {
    node,
    facts,
    look: lookOfStep(facts, waits),
    selected: false,
    sentence: waits?.sentence,
    ms: isOver ? bar.to - bar.from : null,
    looping: loop ? { id: shown.id, run: loop.run, last: loop.last, seq: shown.seq } : undefined,
    ...more,
  };
  return { ...boxOf(node), type: 'step', data: data as unknown as Record<string, unknown> };
}

export function nodesOf(picture: Picture, graph: Graph): Node[] {
  const { story, seq, step, openChild, child } = picture;
  const marking = story.markingAt(seq);
  if (graph.lens === 'net') return netNodes(story, marking, step, graph);
  const own = graph.nodes.map((node): Node => {
    if (node.kind === 'dot') return { ...boxOf(node), type: 'dot', data: {} };
    const isOpen = child?.step === node.id;
    return stepNode(node, picture, marking, { selected: node.id === step, openChild, isOpen });
  });
  return child?.graph ? [...own, ...childNodes(child, child.graph, graph)] : own;
}

function netNodes(story: StoryStore, marking: Int32Array, step: string | null, graph: Graph): Node[] {
  const inPlace = new Map<string, number>();
  story.places.forEach((place, n) => {
    const name = `p:${place.step}.${place.kind}`;
    inPlace.set(name, (inPlace.get(name) ?? 0) + (marking[n] ?? 0));
  });
  return graph.nodes.map((node) => {
    if (node.kind === 'dot') return { ...boxOf(node), type: 'dot', data: {} };
    const data = { node, tokens: inPlace.get(node.id) ?? 0, selected: node.step === step };
    return { ...boxOf(node), type: node.kind === 'place' ? 'place' : 'transition', data };
  });
}

/** Where the box of a child stands: beside the whole graph, at the height of its step. */
export function placeOfChild(graph: Graph, step: string): { x: number; y: number } {
  const host = graph.nodes.find((node) => node.id === step);
  return { x: graph.width + GAP, y: host?.y ?? 0 };
}

/** All that a drawing takes, with the box of a child. */
export function roomOf(graph: Graph, child: Child | null | undefined) {
  const boxes = graph.nodes.map(({ x, y, w, h }) => ({ x, y, w, h }));
  if (child?.graph && graph.lens === 'step') {
    const { width, height } = child.graph;
    boxes.push({ ...placeOfChild(graph, child.step), w: width + 2 * PAD, h: height + 2 * PAD + TITLE });
  }
  const [x, y] = [Math.min(...boxes.map((one) => one.x)), Math.min(...boxes.map((one) => one.y))];
  const width = Math.max(...boxes.map((one) => one.x + one.w)) - x;
  const height = Math.max(...boxes.map((one) => one.y + one.h)) - y;
  return boxes.length ? { x, y, width, height } : { x: 0, y: 0, width: 1, height: 1 };
}

function childNodes(child: Child, inner: Graph, graph: Graph): Node[] {
  const at = placeOfChild(graph, child.step);
  const marking = child.story.markingAt(child.seq);
  const [width, height] = [inner.width + 2 * PAD, inner.height + 2 * PAD + TITLE];
  const frame: Node = { ...placed(WITHIN, at.x, at.y, width, height), type: 'frame', data: { child } };
  const moved = (node: GraphNode): GraphNode => ({
    ...node,
    x: node.x + at.x + PAD,
    y: node.y + at.y + PAD + TITLE,
  });
  const nodes = inner.nodes.map((node): Node => {
    const id = `${WITHIN}${node.id}`;
    if (node.kind === 'dot') return { ...boxOf(moved(node)), id, type: 'dot', data: {} };
    return { ...stepNode(moved(node), child, marking, { isWithin: true }), id };
  });
  return [frame, ...nodes];
}

/** How many tokens wait at the end of each arc, and how many came along it. */
function counted(story: StoryStore, seq: number) {
  const marking = story.markingAt(seq);
  const waits = new Map<string, number>();
  story.places.forEach((place, n) => {
    const name = arcName(place);
    if (name) waits.set(name, (waits.get(name) ?? 0) + (marking[n] ?? 0));
  });
  return { waits, passed: story.passedAt(seq) };
}

function edge(id: string, source: string, target: string, data: ArcEdgeData): Edge {
  return {
    id,
    source,
    target,
    type: 'arc',
    data: data as unknown as Record<string, unknown>,
    focusable: false,
    selectable: data.arc.index !== undefined,
  };
}

export function edgesOf(picture: Picture, graph: Graph): Edge[] {
  const { sel, step, child } = picture;
  const { waits, passed } = counted(picture.story, picture.seq);
  const own = graph.arcs.map((arc, n) => {
    const name = `${arc.from}/${arc.index}>${arc.to}`;
    const isSelected = sel?.kind === 'arc' && sel.from === arc.from && sel.index === arc.index;
    return edge(`${n} ${name}`, arc.from, arc.to, {
      arc,
      tokens: waits.get(name) ?? 0,
      taken: graph.lens === 'net' ? -1 : (passed.get(name) ?? (arc.index === undefined ? 1 : 0)),
      selected: isSelected || (step !== null && (arc.from === step || arc.to === step)),
    });
  });
  const isShown = child?.graph && graph.lens === 'step';
  return isShown ? [...own, ...childEdges(child, child.graph!, graph)] : own;
}

function childEdges(child: Child, inner: Graph, graph: Graph): Edge[] {
  const at = placeOfChild(graph, child.step);
  const host = graph.nodes.find((node) => node.id === child.step);
  const { waits, passed } = counted(child.story, child.seq);
  const within = inner.arcs.map((arc, n) => {
    const name = `${arc.from}/${arc.index}>${arc.to}`;
    const points = arc.points.map(([x, y]): [number, number] => [x + at.x + PAD, y + at.y + PAD + TITLE]);
    const [from, to] = [`${WITHIN}${arc.from}`, `${WITHIN}${arc.to}`];
    return edge(`${WITHIN}${n} ${name}`, from, to, {
      arc: { ...arc, points, index: undefined },
      tokens: waits.get(name) ?? 0,
      taken: passed.get(name) ?? 0,
      selected: false,
    });
  });
  if (!host) return within;
  const y = host.y + host.h / 2;
  const points: [number, number][] = [
    [host.x + host.w, y],
    [at.x, y],
  ];
  const arc = { from: child.step, to: WITHIN, points, backward: false, dashed: true };
  return [edge(`${WITHIN}way`, child.step, WITHIN, { arc, tokens: 0, taken: 1, selected: false }), ...within];
}
