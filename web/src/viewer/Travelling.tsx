import { ViewportPortal } from '@xyflow/react';
import { useEffect, useRef, useState } from 'react';
import type { Graph, GraphArc } from '../api/shapes';
import { number } from '../kit';
import type { StoryStore } from '../story/store';
import { pathOf } from './ArcEdge';
import css from './graph.module.css';
import { BEADS_MAX, type Move, movesBetween, wayOf } from './moves';

const TRAVEL_MS = 220;

interface Trip extends Move {
  id: string;
  line: GraphArc;
}

function isStill(): boolean {
  return matchMedia('(prefers-reduced-motion: reduce)').matches;
}

function tripsOf(graph: Graph, moves: readonly Move[], seq: number): Trip[] {
  const arcs = new Map(graph.arcs.map((arc) => [`${arc.from}/${arc.index}>${arc.to}`, arc]));
  return moves.flatMap((move) => {
    const line = arcs.get(move.arc);
    return line ? [{ ...move, line, id: `${seq} ${move.arc}` }] : [];
  });
}

/** Tokens on their way: when the story goes on by a little, beads travel along the arcs that they came by. */
export function Travelling({ story, seq, graph }: { story: StoryStore; seq: number; graph: Graph }) {
  const [trips, setTrips] = useState<readonly Trip[]>([]);
  const before = useRef({ story, seq });
  useEffect(() => {
    const was = before.current;
    before.current = { story, seq };
    if (was.story !== story || graph.lens !== 'step' || isStill()) return;
    const fresh = tripsOf(graph, movesBetween(story, was.seq, seq), seq);
    if (!fresh.length) return;
    setTrips((all) => [...all.filter((one) => !fresh.some((two) => two.id === one.id)), ...fresh]);
  }, [story, seq, graph]);
  const total = trips.reduce((sum, trip) => sum + trip.tokens, 0);
  const arrived = (id: string) => setTrips((all) => all.filter((one) => one.id !== id));
  if (!trips.length) return null;
  return (
    <ViewportPortal>
      <svg className={css.trips} aria-hidden="true" data-testid="travelling">
        {trips.map((trip) =>
          total > BEADS_MAX ? (
            <Pulse key={trip.id} trip={trip} onEnd={() => arrived(trip.id)} />
          ) : (
            <Bead key={trip.id} trip={trip} onEnd={() => arrived(trip.id)} />
          ),
        )}
      </svg>
    </ViewportPortal>
  );
}

interface TripProps {
  trip: Trip;
  onEnd: () => void;
}

/** Run an animation once; it is over when it has ended, or when the element goes. */
function useOnce(frames: Keyframe[], onEnd: () => void) {
  const element = useRef<SVGGElement>(null);
  const latest = useRef({ frames, onEnd });
  useEffect(() => {
    const run = element.current?.animate(latest.current.frames, { duration: TRAVEL_MS, fill: 'forwards' });
    if (!run) return;
    run.onfinish = () => latest.current.onEnd();
    return () => {
      run.onfinish = null;
      run.cancel();
    };
  }, []);
  return element;
}

function Bead({ trip, onEnd }: TripProps) {
  const frames = wayOf(trip.line.points).map(({ at, x, y }) => ({
    offset: at,
    transform: `translate(${x}px, ${y}px)`,
  }));
  const element = useOnce(frames, onEnd);
  return (
    <g ref={element} className={css.bead}>
      <circle r={8} />
      {trip.tokens > 1 ? <text>{number(trip.tokens)}</text> : null}
    </g>
  );
}

function Pulse({ trip, onEnd }: TripProps) {
  const element = useOnce([{ opacity: 0.9 }, { opacity: 0 }], onEnd);
  return (
    <g ref={element}>
      <path className={css.pulse} d={pathOf(trip.line.points)} />
    </g>
  );
}
