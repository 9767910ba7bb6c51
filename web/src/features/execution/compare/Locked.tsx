import { StepBack, StepForward } from 'lucide-react';
import { type KeyboardEvent, type PointerEvent, useMemo, useRef } from 'react';
import { IconButton } from '../../../kit';
import type { StoryStore } from '../../../story/store';
import { marksOf } from '../../../viewer/marks';
import scrubber from '../../../viewer/scrubber.module.css';
import { type Pair, placeOfRecord } from './aligned';
import css from './compare.module.css';

interface Props {
  sides: readonly { story: StoryStore; edition: number }[];
  places: readonly Pair[];
  place: number;
  /** Where they part; -1 where they do not. */
  first: number;
  onMove: (place: number) => void;
}

/** One slider for both: its records are those that stand beside each other. */
export function Locked({ sides, places, place, first, onMove }: Props) {
  const track = useRef<HTMLDivElement>(null);
  const last = Math.max(1, places.length - 1);
  const share = place / last;
  const pair = places[place];
  const drag = (event: PointerEvent<HTMLDivElement>) => {
    const area = track.current?.getBoundingClientRect();
    if (!area || !event.currentTarget.hasPointerCapture(event.pointerId)) return;
    onMove(Math.round(((event.clientX - area.left) / area.width) * last));
  };
  const press = (event: KeyboardEvent) => {
    const jump = {
      Home: 0,
      End: last,
      PageUp: place + 10,
      PageDown: place - 10,
      ArrowUp: place + 1,
      ArrowDown: place - 1,
    }[event.key];
    if (jump === undefined) return;
    event.preventDefault();
    onMove(jump);
  };
  return (
    <section className={scrubber.scrubber} aria-label="Time of both">
      <IconButton label="Record before" keys="←" onClick={() => onMove(place - 1)}>
        <StepBack size={16} />
      </IconButton>
      <IconButton label="Next record" keys="→" onClick={() => onMove(place + 1)}>
        <StepForward size={16} />
      </IconButton>
      <div
        ref={track}
        className={css.track}
        role="slider"
        tabIndex={0}
        aria-label="Records of both"
        aria-valuemin={1}
        aria-valuemax={places.length}
        aria-valuenow={place + 1}
        aria-valuetext={`left record ${pair?.left ?? 0}, right record ${pair?.right ?? 0}`}
        onKeyDown={press}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          drag(event);
        }}
        onPointerMove={drag}
      >
        {sides.map((side, n) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: there is a left and a right one
          <Line key={n} side={side} places={places} name={n ? 'right' : 'left'} last={last} />
        ))}
        {first >= 0 ? <i className={css.parting} style={{ left: `${(first / last) * 100}%` }} /> : null}
        <i className={css.thumb} style={{ left: `${share * 100}%` }} />
      </div>
      <span className={scrubber.where} data-testid="pair">
        {pair?.left ?? 0} | {pair?.right ?? 0}
      </span>
    </section>
  );
}

interface LineProps {
  side: { story: StoryStore; edition: number };
  places: readonly Pair[];
  name: keyof Pair;
  last: number;
}

/** The track of one side: as long as it lived, with its marks. */
function Line({ side, places, name, last }: LineProps) {
  const { story, edition } = side;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the story changes by its edition
  const marks = useMemo(() => {
    const where = new Map<number, number>();
    places.forEach((pair, n) => {
      if (!where.has(pair[name])) where.set(pair[name], n);
    });
    return marksOf(story, (seq) => (where.get(seq) ?? last) / last);
  }, [story, edition, places, name, last]);
  const end = placeOfRecord(places, name, story.version);
  return (
    <span className={css.line} data-side={name}>
      <i style={{ width: `${(end / last) * 100}%` }} />
      {marks.map((mark) => (
        <i
          key={mark.seq}
          className={scrubber.mark}
          data-state={mark.token}
          title={`${name}: ${mark.name}, record ${mark.seq}`}
          style={{ left: `${mark.at * 100}%` }}
        />
      ))}
    </span>
  );
}
