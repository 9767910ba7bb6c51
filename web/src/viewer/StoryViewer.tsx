import { ReactFlowProvider } from '@xyflow/react';
import { useMemo, useState } from 'react';
import type { Frames, Graph, GraphNode } from '../api/shapes';
import { duration, useKeys } from '../kit';
import { nextOfSel } from '../story/select';
import { StoryStore } from '../story/store';
import { Canvas } from './Canvas';
import type { Camera } from './camera';
import { keysOfStory } from './keys';
import type { Picture, Waiting } from './picture';
import { Scrubber } from './Scrubber';
import { Tools } from './Tools';
import css from './viewer.module.css';

/** A firing that nothing times is shown so long. */
const SLOWEST_MS = 250;
const NOTHING: Waiting = new Map();

interface Props {
  graph: Graph;
  frames: Frames;
  label: string;
  /** The record that is shown; the last one where it is not said. */
  at: number | undefined;
  onAt: (at: number | undefined) => void;
  /** What the end means: a place from which nothing goes on. */
  stuck?: boolean;
  /** It tells of firings of the net, not of runs. */
  isOfNet?: boolean;
  selected: string | null;
  onSelect: (node: GraphNode) => void;
}

export function storyOf(frames: Frames): StoryStore {
  const made = new StoryStore();
  made.append(frames);
  return made;
}

/** What is stuck at a record: every step with a token at or in it. */
export function stuckAt(story: StoryStore, seq: number): Waiting {
  const marking = story.markingAt(seq);
  const steps = story.places.flatMap((place, n) => (marking[n] ? [place.step] : []));
  const why = { reason: 'incident', sentence: 'Nothing goes on from here.' };
  return new Map(steps.map((step) => [step, why]));
}

/** A story that is no execution: a counter-example, a case, a walk. Shown, dragged, stepped and played like one. */
export default function StoryViewer(props: Props) {
  const { graph, frames, label, at, onAt, stuck = false, isOfNet = false, selected, onSelect } = props;
  const story = useMemo(() => storyOf(frames), [frames]);
  const [playing, setPlaying] = useState(false);
  const [camera, setCamera] = useState<Camera | null>(null);
  const total = story.version;
  const seq = Math.max(1, Math.min(at ?? total, total));
  const sel = useMemo<Picture['sel']>(() => (selected ? { kind: 'step', step: selected } : null), [selected]);
  const waiting = useMemo(
    () => (stuck && seq === total ? stuckAt(story, seq) : NOTHING),
    [stuck, story, seq, total],
  );
  const to = (next: number) => onAt(next >= total ? undefined : Math.max(1, next));
  const jump = (among: Picture['sel'] | 'marked', direction: 1 | -1) => {
    const next =
      among === 'marked'
        ? StoryStore.next(story.marked, seq, direction)
        : nextOfSel(story, among, seq, direction);
    if (next !== null) to(next);
  };
  const toggle = () => {
    if (!playing && seq >= total) onAt(1);
    setPlaying(!playing);
  };
  useKeys(keysOfStory({ seq, sel, to, jump, toggle }));
  const select = (next: Picture['sel']) => {
    const node = next?.kind === 'step' ? graph.nodes.find((one) => one.step === next.step) : undefined;
    if (node) onSelect(node);
  };
  const picture = { id: '', story, edition: total, seq, sel, step: selected, waiting, select, isOfNet };
  const took = story.timeOf(seq) - story.timeOf(1);
  return (
    <div className={css.story} role="group" aria-label={label}>
      <Scrubber
        story={story}
        edition={total}
        seq={seq}
        onAt={onAt}
        playing={playing}
        setPlaying={setPlaying}
        time={took > 0 ? `+ ${duration(took)}` : ''}
        slowest={SLOWEST_MS}
        isLive={seq === total}
      />
      <p className={css.words} role="status">
        {seq} of {total} · {`${story.typeOf(seq)} ${story.stepOf(seq)}`.trim()}
      </p>
      <div className={css.picture}>
        <ReactFlowProvider>
          <Canvas
            picture={picture}
            graph={graph}
            label="Steps and arcs; arrow keys walk along arcs"
            camera={camera}
            onCamera={(next, rests) => rests && setCamera(next)}
          />
          <Tools graph={graph} onFit={() => setCamera(null)} />
        </ReactFlowProvider>
      </div>
    </div>
  );
}
