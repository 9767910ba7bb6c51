/** Where records are on the track, and which of them are marked. */
import type { FoldedTime } from '../story/play';
import type { StoryStore } from '../story/store';

export interface TrackScale {
  /** Where a record is, from 0 to 1. */
  place: (seq: number) => number;
  /** Which record is there. */
  seq: (share: number) => number;
}

export function scaleOf(story: StoryStore, folded: FoldedTime | null): TrackScale {
  if (folded) {
    return { place: (seq) => folded.at(story.timeOf(seq)), seq: (share) => story.seqAt(folded.time(share)) };
  }
  const last = () => Math.max(1, story.version - 1);
  return {
    place: (seq) => (story.version <= 1 ? 1 : (seq - 1) / last()),
    seq: (share) => 1 + Math.round(Math.max(0, Math.min(1, share)) * (story.version <= 1 ? 0 : last())),
  };
}

export interface TrackMark {
  seq: number;
  at: number;
  name: string;
  token: string;
}

const ROOM = 240;
const WORST = ['stuck', 'failed', 'waiting', 'partial', 'done', 'running'];

/** The marks of a track; where there is room for one only, the worst of them. */
export function marksOf(story: StoryStore, place: (seq: number) => number): TrackMark[] {
  const slots = new Map<number, TrackMark>();
  for (const seq of story.marked) {
    const mark = story.markAt(seq);
    if (!mark) continue;
    const at = place(seq);
    const slot = Math.round(at * ROOM);
    const there = slots.get(slot);
    if (!there || WORST.indexOf(mark.token) < WORST.indexOf(there.token)) {
      slots.set(slot, { seq, at, name: mark.name, token: mark.token });
    }
  }
  return [...slots.values()];
}
