/** What is drawn of a story: of an execution, a counter-example, a case or a walk. */
import type { Execution, Graph, WaitingTold } from '../api/shapes';
import type { Sel } from '../story/sel';
import type { StoryStore } from '../story/store';
import type { Only } from './looks';

/** What waits, by step: why, and in a sentence. */
export type Waiting = ReadonlyMap<string, Pick<WaitingTold, 'reason' | 'sentence' | 'trying'>>;

/** The execution that a step started, as it is shown inside the one that started it. */
export interface Child {
  id: string;
  /** The step that started it. */
  step: string;
  head: Execution | undefined;
  story: StoryStore;
  edition: number;
  graph: Graph | undefined;
  /** Its record at the moment that is shown. */
  seq: number;
  waiting: Waiting;
}

export interface Picture {
  /** The execution; none where the story is not one. */
  id: string;
  story: StoryStore;
  /** Changes whenever the story does. */
  edition: number;
  /** The record that is shown. */
  seq: number;
  sel: Sel | null;
  /** The step that the selection is about. */
  step: string | null;
  /** What waits at the record that is shown. */
  waiting: Waiting;
  select: (sel: Sel | null) => void;
  openChild?: (step: string) => void;
  child?: Child | null;
  /** Which steps stand out, if only some do. */
  only?: Only;
  /** The steps that wrote what is selected. */
  writers?: ReadonlySet<string>;
  /** The records are firings of a net: it knows no runs, and not of every token by which arc it came. */
  isOfNet?: boolean;
}
