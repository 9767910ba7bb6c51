/** What every pane makes of what is selected. */
import type { Sel } from './sel';
import { StoryStore } from './store';

/** The step that a selection is about; null where it is about none. */
export function stepOfSel(story: StoryStore, sel: Sel | null): string | null {
  if (!sel) return null;
  switch (sel.kind) {
    case 'step':
      return sel.step;
    case 'run':
    case 'iter':
      return story.barOf(sel.run)?.step ?? null;
    case 'arc':
      return sel.from;
    case 'place':
      return sel.place.replace(/\.(ready|running)$/, '');
    case 'rec':
      return story.stepOf(sel.seq) || null;
    case 'token':
    case 'ctx':
    case 'item':
      return null;
  }
}

/** The records that a selection is about, in order. */
export function recordsOfSel(story: StoryStore, sel: Sel | null): readonly number[] {
  if (!sel) return [];
  switch (sel.kind) {
    case 'run':
    case 'iter': {
      const step = story.barOf(sel.run)?.step;
      return step ? story.recordsOf(step).filter((seq) => story.run[seq - 1] === sel.run) : [];
    }
    case 'rec':
      return [sel.seq];
    case 'arc': {
      const places = new Set<number>();
      story.places.forEach((place, n) => {
        if (place.arc?.[0] === sel.from && place.arc[1] === sel.index) places.add(n);
      });
      return story.recordsOf(sel.from).filter((seq) => {
        const delta = story.delta[seq - 1] ?? [];
        return delta.some((part, n) => n % 2 === 0 && places.has(part) && (delta[n + 1] ?? 0) > 0);
      });
    }
    default: {
      const step = stepOfSel(story, sel);
      return step ? story.recordsOf(step) : [];
    }
  }
}

/** The next record of a selection; of none, the next record. */
export function nextOfSel(story: StoryStore, sel: Sel | null, seq: number, direction: 1 | -1): number | null {
  return StoryStore.next(recordsOfSel(story, sel), seq, direction);
}

/** Where people look when they open an execution: stuck, failed, what waits, what runs, what was last done. */
export function firstSel(
  story: StoryStore,
  waiting: readonly { step: string; reason: string }[],
): Sel | null {
  const incident = waiting.find((one) => one.reason === 'incident');
  if (incident) return { kind: 'step', step: incident.step };
  for (let n = story.marked.length - 1; n >= 0; n--) {
    const seq = story.marked[n]!;
    const name = story.markAt(seq)?.name;
    const step = story.stepOf(seq);
    if (name === 'stuck' && step) return { kind: 'step', step };
    if (name === 'failure' && step && story.stepAt(story.version, step).lastFailed)
      return { kind: 'step', step };
  }
  const human = waiting.find((one) => one.reason === 'human') ?? waiting[0];
  if (human) return { kind: 'step', step: human.step };
  const running = story.bars.find((bar) => bar.last === 0);
  if (running) return { kind: 'step', step: running.step };
  const last = story.bars.at(-1);
  return last ? { kind: 'step', step: last.step } : null;
}
