/**
 * Which nodes and arcs of a large graph are in the page: those in view, and those around it, so that a move makes nothing.
 * What is there stays until the view leaves it; then all around the new view is made at once.
 */
import type { Edge, Node } from '@xyflow/react';
import type { ArcEdgeData } from './ArcEdge';
import type { Area, Viewport } from './camera';

export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** How it is looked at: it is shifted, its scale changes, or nobody touches it. */
export type Move = 'pan' | 'zoom' | 'rest';

/**
 * So much of a view is made on each side of it, so that who shifts it comes to no end soon. What is scaled is drawn anew at
 * every move, so there is little around it meanwhile.
 */
const AROUND = 0.4;
const SCALED = 0.1;
/** At rest so much has to be there still. */
const LEAST = 0.2;
/** What is so many times larger than it had to be is made smaller once it rests: who goes in comes out again. */
const TOO_LARGE = 3;

/** What is seen of a drawing. */
export function seenOf({ x, y, zoom }: Viewport, { width, height }: Area): Box {
  return { left: -x / zoom, top: -y / zoom, right: (width - x) / zoom, bottom: (height - y) / zoom };
}

function around(seen: Box, share: number): Box {
  const [across, down] = [(seen.right - seen.left) * share, (seen.bottom - seen.top) * share];
  return {
    left: seen.left - across,
    top: seen.top - down,
    right: seen.right + across,
    bottom: seen.bottom + down,
  };
}

const sizeOf = (box: Box) => (box.right - box.left) * (box.bottom - box.top);

const holds = (box: Box, other: Box) =>
  box.left <= other.left && box.top <= other.top && box.right >= other.right && box.bottom >= other.bottom;

const touches = (box: Box, other: Box) =>
  box.left <= other.right && box.right >= other.left && box.top <= other.bottom && box.bottom >= other.top;

/** What is to be in the page: as before, as long as that will do. */
export function nextBox(was: Box | null, seen: Box, move: Move): Box {
  const wanted = around(seen, move === 'zoom' ? SCALED : AROUND);
  if (!was || !holds(was, move === 'rest' ? around(seen, LEAST) : seen)) return wanted;
  return move === 'rest' && sizeOf(was) > TOO_LARGE * sizeOf(wanted) ? wanted : was;
}

const boxOfNode = ({ position, width = 0, height = 0 }: Node): Box => ({
  left: position.x,
  top: position.y,
  right: position.x + width,
  bottom: position.y + height,
});

function boxOfPoints(points: readonly (readonly [number, number])[]): Box {
  const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
  return { left: Math.min(...xs), top: Math.min(...ys), right: Math.max(...xs), bottom: Math.max(...ys) };
}

/** The nodes and arcs of a part of the drawing; an arc has both its ends with it, wherever they are. */
export function mounted(nodes: Node[], edges: Edge[], box: Box): { nodes: Node[]; edges: Edge[] } {
  const kept = edges.filter((edge) =>
    touches(boxOfPoints((edge.data as unknown as ArcEdgeData).arc.points), box),
  );
  const ends = new Set(kept.flatMap((edge) => [edge.source, edge.target]));
  return { nodes: nodes.filter((node) => ends.has(node.id) || touches(boxOfNode(node), box)), edges: kept };
}
