/** What the last executions tell of a playbook's steps and arcs. */
import type { Heat } from '../../api/running';
import type { NodeFact } from '../../kit';
import { duration } from '../../kit/format';

type StepHeat = Heat['steps'][string];

export function stepFact(heat: Heat, step: string): StepHeat | null {
  return heat.steps[step] ?? null;
}

/** The share of a step's leavings that took an arc; null where it was never left. One leaving may take several arcs. */
export function arcShare(heat: Heat, from: string, index: number): number | null {
  const out = heat.arcs.filter((arc) => arc.from === from);
  const taken = out.reduce((sum, arc) => sum + arc.count, 0);
  if (!taken) return null;
  const total = Math.min(taken, stepFact(heat, from)?.runs || taken);
  return Math.min(1, (out.find((arc) => arc.index === index)?.count ?? 0) / total);
}

/** What stands in the box of a step: how long it takes, and how often it fails. */
export function factOf(heat: Heat, step: string): NodeFact | null {
  const fact = stepFact(heat, step);
  if (!fact) return null;
  const took = fact.median_ms === null ? '–' : duration(fact.median_ms);
  if (!(fact.failure_rate > 0)) return { text: took };
  return { text: `${took} · ${Math.max(1, Math.round(fact.failure_rate * 100))} % failed`, token: 'failed' };
}
