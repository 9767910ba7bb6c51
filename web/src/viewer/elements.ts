/** What is drawn of a story at a record: nodes and edges, with the positions that the server gave. */
import { type Edge, type Node, Position } from '@xyflow/react';
import type { Graph, GraphArc, GraphNode, WaitingTold } from '../api/shapes';
import { arcName, type StoryStore } from '../story/store';
import type { ArcEdgeData } from './ArcEdge';
import { isOf, lookOfStep, type Only } from './looks';
import type { StepNodeData } from './nodes';
import type { Child, Picture, Waiting } from './picture';

/** What stands before the names of the nodes of a child. */
export const WITHIN = 'child:';
const PAD = 20;
const TITLE = 28;
const GAP = 90;

interface Shown {
  id: string;
  story: StoryStore;
  seq: number;
  waiting: Waiting;
  isOfNet?: boolean;
  only?: Only;
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
  const look = lookOfStep(facts, waits, shown.isOfNet);
  const data: StepNodeData = {
    node,
    facts,
    look,
    isFaint: shown.only !== undefined && !isOf(shown.only, look),
    selected: false,
    sentence: waits?.sentence,
    trying: nextTry(waits?.trying),
    ms: isOver ? bar.to - bar.from : null,
    looping: loop && shown.id ? { id: shown.id, run: loop.run, last: loop.last, seq: shown.seq } : undefined,
    ...more,
  };
  return { ...boxOf(node), type: 'step', data: data as unknown as Record<string, unknown> };
}

/** Which try comes next, of how many. */
function nextTry(trying: WaitingTold['trying']): string | undefined {
  return trying ? [trying.failed + 1, trying.of].filter(Boolean).join('/') : undefined;
}

export function nodesOf(picture: Picture, graph: Graph): Node[] {
  const { story, seq, step, openChild, child } = picture;
  const marking = story.markingAt(seq);
  if (graph.lens === 'net') return netNodes(story, marking, step, graph);
  const { waits } = counted(story, seq);
  const own = graph.nodes.map((node): Node => {
    if (node.kind === 'dot') return { ...boxOf(node), type: 'dot', data: {} };
    const joined = joinedAt(node, graph, waits);
    const isOpen = child?.step === node.id;
    const selected = node.id === step || (picture.writers?.has(node.id) ?? false);
    return stepNode(node, picture, marking, { selected, openChild, isOpen, joined });
  });
  return child?.graph ? [...own, ...childNodes(child, child.graph, graph)] : own;
}

/** How many of the arcs into a join have brought a token, while one waits there; of a join that counts arcs. */
function joinedAt(node: GraphNode, graph: Graph, waits: ReadonlyMap<string, number>) {
  if (node.join !== 'arcs') return undefined;
  const into = graph.arcs.filter((arc) => arc.to === node.id && arc.index !== undefined);
  const arrived = into.filter((arc) => waits.get(nameOf(arc))).length;
  return arrived ? { arrived, of: into.length } : undefined;
}

function nameOf({ from, index, to }: GraphArc): string {
  return `${from}/${index}>${to}`;
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

/** Of which arcs it is said that they were taken, though no place names them. */
function plainArcs({ story, seq, isOfNet }: Picture): (arc: GraphArc) => boolean {
  if (!isOfNet) return (arc) => arc.index === undefined;
  const taken = story.takenAt(seq);
  return (arc) => story.places.some((place, n) => place.step === arc.to && !place.arc && (taken[n] ?? 0) > 0);
}

/** The arcs whose tokens a record took away or put there. */
export function movedBy(story: StoryStore, seq: number): ReadonlySet<string> {
  const places = story.deltaOf(seq).filter((_, n) => n % 2 === 0);
  return new Set(places.flatMap((place) => arcName(story.places[place]!) ?? []));
}

/** Which arcs stand out: that which is selected, those of a step that is, those along which a record moved tokens. */
function chosenArcs({ sel, step, story }: Picture): (arc: GraphArc, name: string) => boolean {
  if (sel?.kind === 'arc') return (arc) => arc.from === sel.from && arc.index === sel.index;
  const moved = sel?.kind === 'rec' ? movedBy(story, sel.seq) : null;
  if (moved?.size) return (_, name) => moved.has(name);
  return (arc) => step !== null && (arc.from === step || arc.to === step);
}

export function edgesOf(picture: Picture, graph: Graph): Edge[] {
  const { child } = picture;
  const isChosen = chosenArcs(picture);
  const { waits, passed } = counted(picture.story, picture.seq);
  const isPlain = plainArcs(picture);
  const own = graph.arcs.map((arc, n) => {
    const name = nameOf(arc);
    return edge(`${n} ${name}`, arc.from, arc.to, {
      arc,
      tokens: waits.get(name) ?? 0,
      taken: graph.lens === 'net' ? -1 : (passed.get(name) ?? (isPlain(arc) ? 1 : 0)),
      selected: isChosen(arc, name),
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
    const name = nameOf(arc);
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
