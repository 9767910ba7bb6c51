import { EdgeLabelRenderer, type EdgeProps } from '@xyflow/react';
import { memo } from 'react';
import type { GraphArc } from '../api/shapes';
import { number } from '../kit';
import css from './graph.module.css';

export interface ArcEdgeData {
  arc: GraphArc;
  /** Tokens that wait at its end. */
  tokens: number;
  /** How many came along it; -1 where that is not counted. */
  taken: number;
  selected: boolean;
}

export function pathOf(points: readonly (readonly [number, number])[]): string {
  return points.map(([x, y], n) => `${n ? 'L' : 'M'}${x},${y}`).join(' ');
}

/** A place on an arc, a little before its end: where a bead sits. */
export function beadAt(points: readonly (readonly [number, number])[], back = 16): [number, number] {
  const [x, y] = points.at(-1) ?? [0, 0];
  const [fromX, fromY] = points.at(-2) ?? [x, y - 1];
  const length = Math.hypot(x - fromX, y - fromY) || 1;
  const share = Math.min(0.5, back / length);
  return [x + (fromX - x) * share, y + (fromY - y) * share];
}

function same(a: EdgeProps, b: EdgeProps): boolean {
  const [one, two] = [a.data as unknown as ArcEdgeData, b.data as unknown as ArcEdgeData];
  return (
    one.arc === two.arc &&
    one.tokens === two.tokens &&
    one.taken === two.taken &&
    one.selected === two.selected
  );
}

/** An arc: solid once it was taken, with a bead for the tokens that wait at its end. */
export const ArcEdge = memo(function ArcEdge(props: EdgeProps) {
  const { arc, tokens, taken, selected } = props.data as unknown as ArcEdgeData;
  const [x, y] = beadAt(arc.points);
  const label = arc.label || arc.guard;
  const middle = arc.points[Math.floor((arc.points.length - 1) / 2)] ?? [0, 0];
  const next = arc.points[Math.floor((arc.points.length - 1) / 2) + 1] ?? middle;
  return (
    <>
      <path
        className={css.arc}
        d={pathOf(arc.points)}
        data-taken={taken !== 0 || undefined}
        data-selected={selected || undefined}
        data-dashed={arc.dashed || undefined}
        markerEnd="url(#petra-arrow)"
      />
      <path className={css.hit} d={pathOf(arc.points)}>
        <title>{`${arc.from} → ${arc.to}${arc.guard ? `, when ${arc.guard}` : ''}${taken > 0 ? `, taken ${taken} ×` : taken === 0 ? ', not taken' : ''}`}</title>
      </path>
      {tokens > 0 ? (
        <g className={css.bead} transform={`translate(${x},${y})`}>
          <circle r={9} />
          <text>{number(tokens)}</text>
        </g>
      ) : null}
      {label && selected ? (
        <EdgeLabelRenderer>
          <span
            className={`${css.label} data`}
            style={{
              transform: `translate(-50%, -50%) translate(${(middle[0] + next[0]) / 2}px, ${(middle[1] + next[1]) / 2}px)`,
            }}
          >
            {label}
          </span>
        </EdgeLabelRenderer>
      ) : null}
    </>
  );
}, same);
