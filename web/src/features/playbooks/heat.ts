/** What the last executions tell of a playbook's steps and arcs. */
import type { Heat } from '../../api/running';

type StepHeat = Heat['steps'][string];

export function stepFact(heat: Heat, step: string): StepHeat | null {
  return heat.steps[step] ?? null;
}

/** The share of a step's leavings that took an arc; null where it was never left. */
export function arcShare(heat: Heat, from: string, index: number): number | null {
  const out = heat.arcs.filter((arc) => arc.from === from);
  const total = out.reduce((sum, arc) => sum + arc.count, 0);
  if (!total) return null;
  return (out.find((arc) => arc.index === index)?.count ?? 0) / total;
}
