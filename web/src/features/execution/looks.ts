/** The state of a step at a record, as it is drawn. */
import type { WaitingTold } from '../../api/shapes';
import type { Token } from '../../kit';
import type { StepFacts } from '../../story/store';

export interface StepLook {
  /** A word of the states. */
  status: string;
  reason: string;
}

export function lookOfStep(facts: StepFacts, waiting: WaitingTold | undefined): StepLook {
  if (waiting && (facts.active > 0 || facts.ready > 0)) {
    if (waiting.reason === 'incident') return { status: 'stuck', reason: 'incident' };
    return { status: 'waiting', reason: waiting.reason };
  }
  if (facts.active > 0) return { status: 'running', reason: '' };
  if (facts.ready > 0) return { status: 'ready', reason: '' };
  if (facts.lastFailed) return { status: 'failed', reason: '' };
  if (facts.done > 0) return { status: facts.parts > 0 ? 'partial' : 'done', reason: '' };
  if (facts.failed > 0) return { status: 'failed', reason: '' };
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

/** The colour of a record by its type and what is marked of it. */
export function tokenOfRecord(type: string, mark: Token | null): Token {
  return ICONS[type] ?? mark ?? 'idle';
}
