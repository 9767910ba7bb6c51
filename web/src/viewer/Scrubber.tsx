import { Pause, Play, SkipBack, SkipForward, StepBack, StepForward } from 'lucide-react';
import {
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { Choice, duration, IconButton, Segmented } from '../kit';
import { beat, FoldedTime } from '../story/play';
import type { StoryStore } from '../story/store';
import { marksOf, scaleOf } from './marks';
import css from './scrubber.module.css';

const SPEEDS = [
  { value: '1', label: '×1' },
  { value: '10', label: '×10' },
  { value: '100', label: '×100' },
  { value: '0', label: 'each alike' },
] as const;
type Speed = (typeof SPEEDS)[number]['value'];

interface Props {
  story: StoryStore;
  /** Changes whenever the story does. */
  edition: number;
  /** The record that is shown. */
  seq: number;
  /** Show another one; undefined is the last, whatever comes. */
  onAt: (at: number | undefined) => void;
  playing: boolean;
  setPlaying: (playing: boolean) => void;
  /** When the record was. */
  time: string;
  label?: string;
  /** Whether the track is one of time; and how to have it otherwise, where the story has times. */
  isTime?: boolean;
  onScale?: (isTime: boolean) => void;
  isLive?: boolean;
  /** So long a record is shown at least, in milliseconds, while it plays. */
  slowest?: number;
  /** What stands at its end. */
  children?: ReactNode;
}

const QUICKEST = 16;

/** One time for all panes: drag it, step it, play it. */
export function Scrubber(props: Props) {
  const {
    story,
    edition,
    seq,
    onAt,
    playing,
    setPlaying,
    time,
    isTime = false,
    onScale,
    slowest = QUICKEST,
  } = props;
  const [speed, setSpeed] = useState<Speed>('10');
  const track = useRef<HTMLDivElement>(null);
  const total = story.version;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the story changes by its edition
  const folded = useMemo(() => new FoldedTime(story.moments, story.timeOf(story.version)), [story, edition]);
  const scale = useMemo(() => scaleOf(story, isTime ? folded : null), [story, isTime, folded]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  const marks = useMemo(() => marksOf(story, scale.place), [story, edition, scale]);

  const to = (next: number) => onAt(next >= total ? undefined : Math.max(1, next));
  useEffect(() => {
    if (!playing) return;
    if (seq >= total) {
      setPlaying(false);
      return;
    }
    const timer = setTimeout(
      () => onAt(seq + 1 >= total ? undefined : seq + 1),
      Math.max(slowest, beat(story, seq, Number(speed))),
    );
    return () => clearTimeout(timer);
  }, [playing, seq, total, story, speed, slowest, onAt, setPlaying]);

  const drag = (event: PointerEvent<HTMLDivElement>) => {
    const area = track.current?.getBoundingClientRect();
    if (!area || !event.currentTarget.hasPointerCapture(event.pointerId)) return;
    to(story.near(scale.seq((event.clientX - area.left) / area.width)));
  };
  const press = (event: KeyboardEvent) => {
    const jump = {
      Home: 1,
      End: total,
      PageUp: seq + 10,
      PageDown: seq - 10,
      ArrowUp: seq + 1,
      ArrowDown: seq - 1,
    }[event.key];
    if (jump === undefined) return;
    event.preventDefault();
    to(Math.min(total, jump));
  };
  const toggle = () => {
    if (!playing && seq >= total) onAt(1);
    setPlaying(!playing);
  };
  const share = scale.place(seq);
  return (
    <section className={css.scrubber} aria-label={props.label ?? 'Time'}>
      <span className={css.end}>
        <IconButton label="First record" onClick={() => to(1)}>
          <SkipBack size={16} />
        </IconButton>
      </span>
      <IconButton label="Record before" keys="←" onClick={() => to(seq - 1)}>
        <StepBack size={16} />
      </IconButton>
      <IconButton label={playing ? 'Stop' : 'Play'} keys="Space" onClick={toggle}>
        {playing ? <Pause size={16} /> : <Play size={16} />}
      </IconButton>
      <IconButton label="Next record" keys="→" onClick={() => to(seq + 1)}>
        <StepForward size={16} />
      </IconButton>
      <span className={css.end}>
        <IconButton label="Last record" onClick={() => onAt(undefined)}>
          <SkipForward size={16} />
        </IconButton>
      </span>
      <span className={css.wide}>
        <Choice hideLabel label="Speed" value={speed} onChange={setSpeed} options={SPEEDS} />
      </span>
      <div
        ref={track}
        className={css.track}
        role="slider"
        tabIndex={0}
        aria-label="Record"
        aria-valuemin={1}
        aria-valuemax={Math.max(1, total)}
        aria-valuenow={seq}
        aria-valuetext={[
          `record ${seq} of ${total}`,
          time,
          `${story.typeOf(seq)} ${story.stepOf(seq)}`.trim(),
        ]
          .filter(Boolean)
          .join(', ')}
        data-live={props.isLive || undefined}
        onKeyDown={press}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          setPlaying(false);
          drag(event);
        }}
        onPointerMove={drag}
      >
        <i className={css.line} />
        <i className={css.past} style={{ width: `${share * 100}%` }} />
        {isTime
          ? folded.folds.map((fold) => (
              <i
                key={fold.from}
                className={css.fold}
                title={`${duration(fold.to - fold.from)} idle, folded`}
                style={{
                  left: `${folded.at(fold.from) * 100}%`,
                  width: `${(folded.at(fold.to) - folded.at(fold.from)) * 100}%`,
                }}
              />
            ))
          : null}
        {marks.map((mark) => (
          <i
            key={mark.seq}
            className={css.mark}
            data-state={mark.token}
            title={`${mark.name}, record ${mark.seq}`}
            style={{ left: `${mark.at * 100}%` }}
          />
        ))}
        <i className={css.thumb} style={{ left: `${share * 100}%` }} />
      </div>
      <span className={css.where}>
        <b data-testid="record">{seq}</b>/{total} <span className="muted">{time}</span>
      </span>
      {onScale ? (
        <span className={css.wide}>
          <Segmented
            label="Scale"
            value={isTime ? 'time' : 'records'}
            onChange={(value) => onScale(value === 'time')}
            options={[
              { value: 'records', label: 'records' },
              { value: 'time', label: 'time' },
            ]}
          />
        </span>
      ) : null}
      {props.children}
    </section>
  );
}
