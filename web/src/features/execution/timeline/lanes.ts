/** The timeline: a lane per step, a bar per run, idle stretches folded. */
import { number } from '../../../kit/format';
import type { FoldedTime } from '../../../story/play';
import type { Bar, StoryStore } from '../../../story/store';
import type { Child } from '../../../viewer/picture';

export interface Lane {
  step: string;
  /** The runs of which something is held. */
  bars: readonly Bar[];
  /** How many runs there are. */
  count: number;
  /** Whose runs these are: of the execution, or of the child that is shown inside it. */
  story: StoryStore;
  seq: number;
  isWithin: boolean;
}

/** The lanes, in the order in which their steps first began, as far as a record goes. */
export function lanesOf(story: StoryStore, seq: number, isWithin = false): Lane[] {
  return [...story.ran].flatMap((step) => {
    const count = story.begunBy(step, seq);
    const bars = story.barsOf(step, seq);
    return count ? [{ step, bars, count, story, seq, isWithin }] : [];
  });
}

/** The lanes of an execution, with those of a child below the step that started it. */
export function lanesWith(own: Lane[], child: Pick<Child, 'step' | 'story' | 'seq'> | null): Lane[] {
  if (!child) return own;
  const at = own.findIndex((lane) => lane.step === child.step);
  if (at < 0) return own;
  return [...own.slice(0, at + 1), ...lanesOf(child.story, child.seq, true), ...own.slice(at + 1)];
}

export function laneInWords({ step, count }: Pick<Lane, 'step' | 'count'>): string {
  return `${step}: ${number(count)} ${count === 1 ? 'run' : 'runs'}`;
}

export interface Span {
  bar: Bar;
  from: number;
  to: number;
  isOpen: boolean;
}

/** From where to where a bar goes on a scale; one that had not ended by a record goes on to the moment that is shown. */
export function spanOf(
  story: StoryStore,
  bar: Bar,
  seq: number,
  scale: FoldedTime,
  here: number = story.timeOf(seq),
): Span {
  const isOpen = bar.last === 0 || bar.last > seq;
  return { bar, from: scale.at(bar.from), to: scale.at(isOpen ? here : bar.to), isOpen };
}

/** Which bar of a lane is at a share of the width; the latest where several are. */
export function barAt(spans: readonly Span[], share: number, slack: number): Bar | null {
  let found: Bar | null = null;
  for (const span of spans) {
    if (share >= span.from - slack && share <= span.to + slack) found = span.bar;
  }
  return found;
}
