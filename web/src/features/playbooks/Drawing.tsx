import type { Heat } from '../../api/running';
import type { Graph, GraphNode } from '../../api/shapes';
import { duration, number } from '../../kit';
import { arcShare, stepFact } from './heat';
import css from './playbooks.module.css';

const EDGE = 12;

/** A playbook as a picture, with how its last executions went written on it. */
export function Drawing({ graph, heat }: { graph: Graph; heat: Heat | null }) {
  return (
    <svg
      className={css.drawing}
      viewBox={`${-EDGE} ${-EDGE} ${graph.width + 2 * EDGE} ${graph.height + 2 * EDGE}`}
      width={graph.width + 2 * EDGE}
      role="img"
      aria-label={graph.nodes.map((node) => said(node, heat)).join('; ')}
    >
      <defs>
        <marker
          id="drawn-arrow"
          viewBox="0 0 8 8"
          refX="7"
          refY="4"
          markerWidth="7"
          markerHeight="7"
          orient="auto"
        >
          <path d="M0,0 L8,4 L0,8 z" />
        </marker>
      </defs>
      {graph.arcs.map((arc) => {
        const share = heat ? arcShare(heat, arc.from, arc.index ?? 0) : null;
        const [x, y] = arc.points[Math.floor(arc.points.length / 2)] ?? [0, 0];
        return (
          <g
            key={`${arc.from} ${arc.index ?? 0} ${arc.to}`}
            data-taken={share === null || share > 0 || undefined}
          >
            <path
              className={css.arc}
              d={arc.points.map(([px, py], n) => `${n ? 'L' : 'M'}${px},${py}`).join(' ')}
              markerEnd="url(#drawn-arrow)"
            />
            {share === null ? null : (
              <text x={x + 6} y={y - 4}>
                {Math.round(share * 100)} %
              </text>
            )}
          </g>
        );
      })}
      {graph.nodes.map((node) => (
        <Node key={node.id} node={node} heat={heat} />
      ))}
    </svg>
  );
}

function said(node: GraphNode, heat: Heat | null): string {
  const fact = heat ? stepFact(heat, node.step ?? node.id) : null;
  return `${node.label ?? node.id}${fact ? `, ${number(fact.runs)} runs, ${Math.round(fact.failure_rate * 100)} % failed` : ''}`;
}

function Node({ node, heat }: { node: GraphNode; heat: Heat | null }) {
  const fact = heat ? stepFact(heat, node.step ?? node.id) : null;
  const bad = fact !== null && fact.failure_rate > 0;
  return (
    <g transform={`translate(${node.x},${node.y})`} className={css.node} data-bad={bad || undefined}>
      <title>{said(node, heat)}</title>
      <rect width={node.w} height={node.h} rx={8} />
      {node.kind === 'dot' ? null : (
        <text x={12} y={node.h / 2 - (fact ? 4 : -4)} className={css.name}>
          {cut(node.label ?? node.id, node.w)}
        </text>
      )}
      {fact ? (
        <text x={12} y={node.h / 2 + 14}>
          {fact.median_ms === null ? '–' : duration(fact.median_ms)}
          {bad ? ` · ${Math.max(1, Math.round(fact.failure_rate * 100))} % failed` : ''}
        </text>
      ) : null}
    </g>
  );
}

/** As much of a name as fits into a box. */
function cut(name: string, width: number): string {
  const room = Math.floor((width - 24) / 7);
  return name.length > room ? `${name.slice(0, room - 1)}…` : name;
}
