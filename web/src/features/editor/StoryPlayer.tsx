import { ChevronLeft, ChevronRight, Pause, Play, SkipBack, SkipForward } from 'lucide-react';
import { useEffect, useMemo, useState } from 'react';
import type { Frames, Graph, GraphArc, GraphNode } from '../../api/shapes';
import { Drawing, IconButton, type NodeFact, number } from '../../kit';
import { beat } from '../../story/play';
import { StoryStore } from '../../story/store';
import css from './editor.module.css';

const SLOWEST_MS = 250;

interface Props {
  graph: Graph;
  frames: Frames;
  label: string;
  /** The record that is shown; the last one where it is not said. */
  at: number | undefined;
  onAt: (at: number | undefined) => void;
  /** What the end means: a place from which nothing goes on. */
  stuck?: boolean;
  selected: string | null;
  onSelect: (node: GraphNode) => void;
}

export function storyOf(frames: Frames): StoryStore {
  const made = new StoryStore();
  made.append(frames);
  return made;
}

/** What a step did up to a record, in words and as a border. */
export function factAt(story: StoryStore, seq: number, step: string, stuck: boolean): NodeFact | null {
  const facts = story.stepAt(seq, step);
  if (facts.active) return { text: `${number(facts.active)} running`, token: stuck ? 'stuck' : 'running' };
  if (facts.ready) return { text: `${number(facts.ready)} waiting`, token: stuck ? 'stuck' : 'waiting' };
  if (!facts.last) return null;
  if (facts.lastFailed) return { text: 'failed', token: 'failed' };
  // a proof tells of firings, not of runs: what was there and has gone on is done
  if (facts.started && !facts.done) return { text: 'withdrawn' };
  return { text: facts.done > 1 ? `done ${number(facts.done)} ×` : 'done', token: 'done' };
}

/** The tokens that came by each arc and wait at its end, as the number that stands there. */
export function beadsAt(story: StoryStore, seq: number): Map<string, number> {
  const marking = story.markingAt(seq);
  const found = new Map<string, number>();
  story.places.forEach((place, n) => {
    const tokens = marking[n] ?? 0;
    if (place.arc && tokens > 0) found.set(place.arc.join(' '), tokens);
  });
  return found;
}

/** Whether a token came by an arc: by one that places name, or to a step whose tokens are told without their arcs. */
function hasCome(story: StoryStore, taken: Int32Array, arc: GraphArc): boolean {
  const into = story.places.flatMap((place, n) => (place.step === arc.to ? [{ place, n }] : []));
  const named = into.filter(({ place }) => place.arc !== null);
  const meant = named.length
    ? named.filter(({ place }) => place.arc?.[0] === arc.from && place.arc[1] === (arc.index ?? 0))
    : into;
  return meant.some(({ n }) => (taken[n] ?? 0) > 0);
}

/** A story that is no execution: a counter-example, a case, a walk. Stepped, dragged and played like one. */
export function StoryPlayer({ graph, frames, label, at, onAt, stuck = false, selected, onSelect }: Props) {
  const story = useMemo(() => storyOf(frames), [frames]);
  const [playing, setPlaying] = useState(false);
  const total = story.version;
  const seq = Math.min(at ?? total, total);
  const to = (next: number) => onAt(next >= total ? undefined : Math.max(0, next));
  useEffect(() => {
    if (!playing) return;
    if (seq >= total) return setPlaying(false);
    const wait = Math.max(SLOWEST_MS, beat(story, seq, 1));
    const timer = setTimeout(() => onAt(seq + 1 >= total ? undefined : seq + 1), wait);
    return () => clearTimeout(timer);
  }, [playing, seq, total, story, onAt]);
  const beads = useMemo(() => beadsAt(story, seq), [story, seq]);
  const taken = useMemo(() => story.takenAt(seq), [story, seq]);
  const came = (arc: GraphArc) => hasCome(story, taken, arc);
  const words = seq ? `${story.typeOf(seq)} ${story.stepOf(seq)}`.trim() : 'before it begins';
  const toggle = () => {
    if (!playing && seq >= total) onAt(0);
    setPlaying(!playing);
  };
  return (
    <div className="stack">
      <div className="row wrap" role="group" aria-label={label}>
        <IconButton label="First" onClick={() => to(0)}>
          <SkipBack size={16} />
        </IconButton>
        <IconButton label="Back" onClick={() => to(seq - 1)}>
          <ChevronLeft size={16} />
        </IconButton>
        <IconButton label={playing ? 'Stop' : 'Play'} onClick={toggle}>
          {playing ? <Pause size={16} /> : <Play size={16} />}
        </IconButton>
        <IconButton label="On" onClick={() => to(seq + 1)}>
          <ChevronRight size={16} />
        </IconButton>
        <IconButton label="Last" onClick={() => to(total)}>
          <SkipForward size={16} />
        </IconButton>
        <input
          type="range"
          className={css.track}
          aria-label="Record"
          aria-valuetext={`record ${seq} of ${total}, ${words}`}
          min={0}
          max={total}
          value={seq}
          onChange={(event) => to(Number(event.currentTarget.value))}
        />
        <span role="status">
          {seq} of {total} · {words}
        </span>
      </div>
      <Drawing
        graph={graph}
        factOf={(node) => factAt(story, seq, node.step ?? node.id, stuck && seq === total)}
        arcText={(arc) => {
          const waiting = beads.get(`${arc.from} ${arc.index ?? 0}`);
          return waiting ? `● ${number(waiting)}` : null;
        }}
        isTaken={came}
        selected={selected}
        onSelect={onSelect}
      />
    </div>
  );
}
