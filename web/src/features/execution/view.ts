/** What every pane of the execution page is given: one story, one selection, one time. */
import type { Offer } from '../../acts/gate';
import type { Execution, Graph, WaitingTold, Write } from '../../api/shapes';
import type { Sel } from '../../story/sel';
import type { StoryStore } from '../../story/store';
import type { Child } from '../../viewer/picture';
import type { ExecutionSearch } from './search';

export interface View {
  id: string;
  head: Execution;
  story: StoryStore;
  /** Changes whenever the story does. */
  edition: number;
  graph: Graph | undefined;
  /** The record that is shown, and whether it is the present. */
  seq: number;
  live: boolean;
  /** The last record as far as the server is asked about it: however fast records come, it goes on once a second. */
  latest: number;
  sel: Sel | null;
  /** The step that the selection is about. */
  step: string | null;
  /** What waits at the record that is shown, by step. */
  waiting: ReadonlyMap<string, WaitingTold>;
  /** What was written to the variable that is selected; null where none is. */
  writes: readonly Write[] | null;
  search: ExecutionSearch;
  /** Change the address: a part of it; `replace` leaves no way back. */
  go: (change: Partial<ExecutionSearch>, replace?: boolean) => void;
  select: (sel: Sel | null) => void;
  /** The execution that is shown inside this one. */
  child: Child | null;
  openChild: (step: string) => void;
  /** Go to a step of it, on its own page. */
  visitChild: (step: string) => void;
  /** What can be done to it: an act, what its form begins with, and the step that it is about. */
  offer: (id: string, start?: Record<string, string>, step?: string) => Offer;
}
