/** The state of a step at a record, as it is drawn. */
import type { WaitingTold } from '../api/shapes';
import type { Token } from '../kit';
import { lookOf } from '../kit/states';
import type { Bar, StepFacts, StoryStore } from '../story/store';

export interface StepLook {
  /** A word of the states. */
  status: string;
  reason: string;
}

/** What people look for among steps. */
export const ONLY = ['active', 'failed', 'waiting'] as const;
export type Only = (typeof ONLY)[number];

const FITS: Record<Only, ReadonlySet<Token>> = {
  active: new Set<Token>(['running', 'waiting', 'stuck']),
  failed: new Set<Token>(['failed', 'stuck', 'partial']),
  waiting: new Set<Token>(['waiting', 'stuck']),
};

/** Whether a step is one of those that are looked for. */
export function isOf(only: Only, look: StepLook): boolean {
  return FITS[only].has(lookOf(look.status, look.reason).token);
}

type Why = Pick<WaitingTold, 'reason'>;

/** Whether somebody waits: an explanation names those, too, that a worker is busy with. */
export function isWait({ reason }: Why): boolean {
  return reason !== 'worker';
}

/** What matters less of several runs of a step than all other reasons, the least last. */
const LESSER = ['worker', 'room', 'no worker', 'ready'];
const rank = ({ reason }: Why) => (reason === 'incident' ? -1 : 1 + LESSER.indexOf(reason));

/** What an explanation says of each step: of several runs an incident first, then what waits, then what runs. */
export function byStep<T extends Why & { step: string }>(all: readonly T[]): ReadonlyMap<string, T> {
  const found = new Map<string, T>();
  for (const one of all) {
    const other = found.get(one.step);
    if (!other || rank(one) < rank(other)) found.set(one.step, one);
  }
  return found;
}

/** How a step looks. A net tells of firings and not of runs: what was there and has gone on is done. */
export function lookOfStep(
  facts: StepFacts,
  waiting: Pick<WaitingTold, 'reason'> | undefined,
  isOfNet = false,
): StepLook {
  if (waiting && isWait(waiting) && (facts.active > 0 || facts.ready > 0)) {
    if (waiting.reason === 'incident') return { status: 'stuck', reason: 'incident' };
    return { status: 'waiting', reason: waiting.reason };
  }
  if (facts.active > 0) return { status: 'running', reason: '' };
  if (facts.ready > 0) return { status: 'ready', reason: '' };
  if (facts.lastFailed) return { status: 'failed', reason: '' };
  if (facts.done > 0) return { status: facts.parts > 0 ? 'partial' : 'done', reason: '' };
  if (facts.failed > 0) return { status: 'failed', reason: '' };
  if (isOfNet && facts.last > 0) return { status: 'done', reason: '' };
  return { status: facts.started > 0 ? 'withdrawn' : 'idle', reason: '' };
}

export const TOKEN_OF_BAR: Record<string, Token> = {
  running: 'running',
  done: 'done',
  failed: 'failed',
  withdrawn: 'idle',
  returned: 'idle',
  beyond: 'idle',
};

/** The colour of a run that is over, or goes on. */
export function tokenOfBar(story: StoryStore, bar: Pick<Bar, 'run' | 'state'>): Token {
  if (bar.state === 'done' && story.isInPart(bar.run)) return 'partial';
  return TOKEN_OF_BAR[bar.state] ?? 'idle';
}

const ICONS: Record<string, Token> = {
  'step.failed': 'failed',
  'step.done': 'done',
  'loop.done': 'done',
  'step.started': 'running',
  'execution.ended': 'done',
  'execution.stuck': 'stuck',
  'incident.raised': 'stuck',
  'workitem.changed': 'waiting',
  'signal.received': 'waiting',
  'ctx.patched': 'partial',
  'execution.paused': 'partial',
  'execution.resumed': 'partial',
};

/** The colour of a record by its type and what is marked of it; of the end of a run, that of the run. */
export function tokenOfRecord(story: StoryStore, seq: number): Token {
  const token = ICONS[story.typeOf(seq)];
  if (token === 'done' && story.isInPart(story.runOf(seq))) return 'partial';
  return token ?? story.markAt(seq)?.token ?? 'idle';
}
