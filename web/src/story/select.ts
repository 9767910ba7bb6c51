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

/** How the server is asked for the records that a selection is about; null where those are all records. */
export interface Wanted {
  step?: string;
  run?: number;
  arc?: string;
}

export function wantedOfSel(story: StoryStore, sel: Sel | null): Wanted | null {
  switch (sel?.kind) {
    case 'run':
    case 'iter':
      return { run: sel.run };
    case 'arc':
      return { step: sel.from, arc: `${sel.from}/${sel.index}` };
    case 'step':
    case 'place':
      return { step: stepOfSel(story, sel) ?? '' };
    default:
      return null;
  }
}

/** Whether a record is one of those, as what is held of it tells. */
export function isWanted(story: StoryStore, wanted: Wanted | null, seq: number): boolean {
  if (!wanted) return true;
  if (wanted.run !== undefined && story.runOf(seq) !== wanted.run) return false;
  if (wanted.step !== undefined && story.stepOf(seq) !== wanted.step) return false;
  if (wanted.arc === undefined) return true;
  const delta = story.deltaOf(seq);
  return delta.some((part, n) => {
    const arc = n % 2 === 0 && (delta[n + 1] ?? 0) > 0 ? story.places[part]?.arc : null;
    return arc ? `${arc[0]}/${arc[1]}` === wanted.arc : false;
  });
}

/** The records that a selection is about, in order; of a story that is held whole. */
export function recordsOfSel(story: StoryStore, sel: Sel | null): readonly number[] {
  if (!sel) return [];
  switch (sel.kind) {
    case 'rec':
      return [sel.seq];
    case 'run':
    case 'iter':
    case 'arc': {
      const step = stepOfSel(story, sel);
      const wanted = wantedOfSel(story, sel);
      return step ? story.recordsOf(step).filter((seq) => isWanted(story, wanted, seq)) : [];
    }
    default: {
      const step = stepOfSel(story, sel);
      return step ? story.recordsOf(step) : [];
    }
  }
}

/** The next record of a selection; null where there is none. */
export function nextOfSel(story: StoryStore, sel: Sel | null, seq: number, direction: 1 | -1): number | null {
  return StoryStore.next(recordsOfSel(story, sel), seq, direction);
}

/** A step whose run began so long ago that it is not held. */
function activeStep(story: StoryStore): string | undefined {
  return [...story.ran].find((step) => story.stepAt(story.version, step).active > 0);
}

/** Where people look when they open an execution: stuck, failed, what waits, what runs, what was last done. */
export function firstSel(
  story: StoryStore,
  waiting: readonly { step: string; reason: string }[],
): Sel | null {
  const incident = waiting.find((one) => one.reason === 'incident');
  if (incident) return { kind: 'step', step: incident.step };
  for (const seq of [...story.marked].reverse()) {
    const name = story.markAt(seq)?.name;
    const step = story.stepOf(seq);
    if (name === 'stuck' && step) return { kind: 'step', step };
    if (name === 'failure' && step && story.stepAt(story.version, step).lastFailed)
      return { kind: 'step', step };
  }
  const human = waiting.find((one) => one.reason === 'human') ?? waiting[0];
  if (human) return { kind: 'step', step: human.step };
  const running = story.bars.find((bar) => bar.last === 0)?.step ?? activeStep(story);
  if (running) return { kind: 'step', step: running };
  const last = story.bars.at(-1)?.step;
  return last ? { kind: 'step', step: last } : null;
}
