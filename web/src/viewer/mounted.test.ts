import type { Edge, Node } from '@xyflow/react';
import { describe, expect, test } from 'vitest';
import { mounted, nextBox, seenOf } from './mounted';

const node = (id: string, x: number, y: number) =>
  ({ id, position: { x, y }, width: 100, height: 50, data: {} }) as Node;
const edge = (source: string, target: string, points: [number, number][]) =>
  ({ id: `${source} ${target}`, source, target, data: { arc: { points } } }) as unknown as Edge;

const AREA = { width: 1000, height: 500 };
const at = (x: number, y: number, zoom = 1) => seenOf({ x, y, zoom }, AREA);

describe('what is in the page', () => {
  test('is in view, and some way around it; little of that while it is scaled', () => {
    expect(at(-100, -50, 2)).toEqual({ left: 50, top: 25, right: 550, bottom: 275 });
    expect(nextBox(null, at(0, 0), 'pan')).toEqual({ left: -400, top: -200, right: 1400, bottom: 700 });
    expect(nextBox(null, at(0, 0), 'zoom')).toEqual({ left: -100, top: -50, right: 1100, bottom: 550 });
  });

  test('stays while the view is within it, and is made anew around one that leaves it', () => {
    const first = nextBox(null, at(0, 0), 'rest');
    for (const seen of [at(399, 0), at(-399, -199)]) expect(nextBox(first, seen, 'pan')).toBe(first);
    expect(nextBox(first, at(401, 0), 'pan').left).toBe(-801);
    expect(nextBox(first, at(-500, -250, 2), 'zoom'), 'one looks closer, and comes back').toBe(first);
    const scaled = nextBox(null, at(0, 0), 'zoom');
    expect(scaled.left).toBe(-100);
    expect(nextBox(scaled, at(0, 0, 0.95), 'zoom'), 'a little farther away').toBe(scaled);
    expect(nextBox(first, at(0, 0, 0.5), 'zoom')).toEqual({
      left: -200,
      top: -100,
      right: 2200,
      bottom: 1100,
    });
  });

  test('is as large as it should be once it rests', () => {
    const [far, near] = [nextBox(null, at(0, 0, 0.1), 'zoom'), nextBox(null, at(0, 0), 'zoom')];
    const wanted = nextBox(null, at(0, 0), 'rest');
    expect(nextBox(far, at(0, 0), 'pan'), 'while it moves').toBe(far);
    expect([nextBox(far, at(0, 0), 'rest'), nextBox(near, at(0, 0), 'rest')]).toEqual([wanted, wanted]);
    expect(nextBox(wanted, at(150, 0), 'rest'), 'that is enough').toBe(wanted);
  });

  test('has every arc that crosses it, with both its ends', () => {
    const nodes = [node('a', 0, 0), node('b', 0, 5000), node('c', 9000, 0), node('d', 9000, 9000)];
    const edges = [
      edge('a', 'b', [[50, 50], [50, 5000]]),
      edge('c', 'd', [[9050, 50], [9050, 9000]]),
      edge('d', 'd', [[9000, 9000], [-50, 9000], [-50, -50]]),
    ]; // biome-ignore format: a line each
    const found = mounted(nodes, edges, nextBox(null, at(0, 0), 'rest'));
    expect(found.nodes.map((one) => one.id)).toEqual(['a', 'b', 'd']);
    expect(found.edges.map((one) => one.id)).toEqual(['a b', 'd d']);
  });
});
