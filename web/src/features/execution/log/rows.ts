/** Which records the log shows: by what they are about, never by what mentions it. */
import type { Sel } from '../../../story/sel';
import { recordsOfSel } from '../../../story/select';
import type { StoryStore } from '../../../story/store';

export const CHUNK = 200;

export function chunkOf(seq: number): number {
  return Math.floor((seq - 1) / CHUNK);
}

const IMPORTANT = new Set([
  'execution.started',
  'execution.forked',
  'step.done',
  'step.failed',
  'loop.done',
  'incident.raised',
  'group.changed',
  'group.timed_out',
  'ctx.patched',
  'signal.received',
  'workitem.changed',
  'act.refused',
  'execution.paused',
  'execution.resumed',
  'execution.ending',
  'execution.stuck',
  'execution.ended',
  'execution.migrated',
]);

export function isImportant(story: StoryStore, seq: number): boolean {
  return (story.flag[seq - 1] ?? 0) !== 0 || IMPORTANT.has(story.typeOf(seq));
}

/** The records of a selection; a single record stands among all others. */
export function shownRecords(story: StoryStore, sel: Sel | null, level: 'important' | 'all'): number[] {
  const wide =
    !sel || sel.kind === 'rec' || sel.kind === 'ctx' || sel.kind === 'item' || sel.kind === 'token';
  const among = wide ? Array.from({ length: story.version }, (_, n) => n + 1) : recordsOfSel(story, sel);
  if (level === 'all') return [...among];
  const kept = sel?.kind === 'rec' ? sel.seq : 0;
  return among.filter((seq) => seq === kept || isImportant(story, seq));
}
