/** Walking along arcs with the arrow keys. */
import type { Graph } from '../api/shapes';

/** The step that an arrow key leads to: down and up along arcs, left and right among those on the same level. */
export function neighbour(graph: Graph, step: string, key: string): string | null {
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
  const here = nodes.get(step);
  if (!here) return null;
  const real = (id: string) => nodes.get(id)?.step !== undefined;
  if (key === 'ArrowDown') return graph.arcs.find((arc) => arc.from === step && real(arc.to))?.to ?? null;
  if (key === 'ArrowUp') return graph.arcs.find((arc) => arc.to === step && real(arc.from))?.from ?? null;
  const level = graph.nodes.filter((node) => real(node.id) && Math.abs(node.y - here.y) < node.h);
  const sorted = level.sort((a, b) => a.x - b.x);
  const at = sorted.findIndex((node) => node.id === step);
  return sorted[key === 'ArrowRight' ? at + 1 : at - 1]?.id ?? null;
}
