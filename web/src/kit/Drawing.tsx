import type { Graph, GraphArc, GraphNode } from '../api/shapes';
import css from './drawing.module.css';

export interface NodeFact {
  text: string;
  /** What its border says, beside the words. */
  token?: 'failed' | 'stuck' | 'running' | 'waiting' | 'done';
}

interface Props {
  graph: Graph;
  factOf: (node: GraphNode) => NodeFact | null;
  /** What stands at an arc; null where nothing is known of it. */
  arcText?: (arc: GraphArc) => string | null;
  isTaken?: (arc: GraphArc) => boolean;
  /** Arcs that ask for attention: nothing ever took them. */
  isMissed?: (arc: GraphArc) => boolean;
  selected?: string | null;
  onSelect?: (node: GraphNode) => void;
  /** An arc is pressed. */
  onArc?: (arc: GraphArc) => void;
}

const EDGE = 12;

/** A playbook as a picture, with something said about each of its steps and arcs. */
export function Drawing({ graph, factOf, arcText, isTaken, isMissed, selected, onSelect, onArc }: Props) {
  const said = (node: GraphNode) => [node.label ?? node.id, factOf(node)?.text].filter(Boolean).join(', ');
  return (
    <svg
      className={css.drawing}
      viewBox={`${-EDGE} ${-EDGE} ${graph.width + 2 * EDGE} ${graph.height + 2 * EDGE}`}
      width={graph.width + 2 * EDGE}
      role="img"
      aria-label={graph.nodes
        .filter((node) => node.kind !== 'dot')
        .map(said)
        .join('; ')}
    >
      <defs>
        <marker
          id="drawn-tip"
          viewBox="0 0 8 8"
          refX="7"
          refY="4"
          markerUnits="userSpaceOnUse"
          markerWidth="9"
          markerHeight="9"
          orient="auto"
        >
          <path d="M0,0 L8,4 L0,8 z" />
        </marker>
      </defs>
      {graph.arcs.map((arc) => (
        <Arc
          key={`${arc.from} ${arc.index ?? 0} ${arc.to}`}
          arc={arc}
          text={arcText?.(arc) ?? null}
          taken={isTaken?.(arc) ?? true}
          missed={isMissed?.(arc) ?? false}
          onPress={onArc && (() => onArc(arc))}
        />
      ))}
      {graph.nodes.map((node) => (
        <Node
          key={node.id}
          node={node}
          fact={factOf(node)}
          title={said(node)}
          here={selected === node.id}
          onSelect={onSelect}
        />
      ))}
    </svg>
  );
}

interface ArcProps {
  arc: GraphArc;
  text: string | null;
  taken: boolean;
  missed: boolean;
  onPress: (() => void) | undefined;
}

function Arc({ arc, text, taken, missed, onPress }: ArcProps) {
  const [x, y] = middle(arc.points);
  const way = arc.points.map(([px, py], n) => `${n ? 'L' : 'M'}${px},${py}`).join(' ');
  return (
    <g data-taken={taken || undefined} data-missed={missed || undefined} data-arc={`${arc.from} ${arc.to}`}>
      <path className={css.arc} d={way} markerEnd="url(#drawn-tip)" />
      {onPress ? (
        // biome-ignore lint/a11y/noStaticElementInteractions: the same arcs stand in a list beside it
        <path className={css.hit} d={way} onClick={onPress} />
      ) : null}
      {text === null ? null : (
        <text x={x + 6} y={y - 4}>
          {text}
        </text>
      )}
    </g>
  );
}

/** The middle of the middle piece of a line: two arcs that end in one place are told apart there. */
export function middle(points: GraphArc['points']): [number, number] {
  const after = Math.max(1, Math.floor(points.length / 2));
  const [x, y] = points[after - 1] ?? [0, 0];
  const [toX, toY] = points[after] ?? [x, y];
  return [(x + toX) / 2, (y + toY) / 2];
}

interface NodeProps {
  node: GraphNode;
  fact: NodeFact | null;
  title: string;
  here: boolean;
  onSelect: ((node: GraphNode) => void) | undefined;
}

function Node({ node, fact, title, here, onSelect }: NodeProps) {
  const isDot = node.kind === 'dot';
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the same is reached by the keyboard in the text beside it
    <g
      transform={`translate(${node.x},${node.y})`}
      className={css.node}
      data-token={fact?.token}
      data-here={here || undefined}
      data-step={isDot ? undefined : node.id}
      onClick={onSelect && !isDot ? () => onSelect(node) : undefined}
    >
      <title>{title}</title>
      <rect width={node.w} height={node.h} rx={8} />
      {isDot ? null : (
        <text x={12} y={node.h / 2 - (fact?.text ? 4 : -4)} className={css.name}>
          {cut(node.label ?? node.id, node.w)}
        </text>
      )}
      {fact?.text ? (
        <text x={12} y={node.h / 2 + 14}>
          {cut(fact.text, node.w)}
        </text>
      ) : null}
    </g>
  );
}

/** As much of a text as fits into a box. */
export function cut(text: string, width: number): string {
  const room = Math.max(2, Math.floor((width - 24) / 7));
  return text.length > room ? `${text.slice(0, room - 1)}…` : text;
}
