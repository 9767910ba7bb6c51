import { Pause, Play, Radio, SkipBack, StepBack, StepForward } from 'lucide-react';
import { type KeyboardEvent, type PointerEvent, useEffect, useMemo, useRef, useState } from 'react';
import { Button, Choice, IconButton, millis, Segmented } from '../../../kit';
import { beat, FoldedTime } from '../../../story/play';
import type { View } from '../view';
import { marksOf, scaleOf } from './marks';
import css from './scrubber.module.css';

const SPEEDS = [
  { value: '1', label: '×1' },
  { value: '10', label: '×10' },
  { value: '100', label: '×100' },
] as const;
type Speed = (typeof SPEEDS)[number]['value'];

interface Props {
  view: View;
  playing: boolean;
  setPlaying: (playing: boolean) => void;
}

/** One time for all panes: drag it, step it, play it. */
export function Scrubber({ view, playing, setPlaying }: Props) {
  const { story, seq, live, search, go } = view;
  const [speed, setSpeed] = useState<Speed>('10');
  const track = useRef<HTMLDivElement>(null);
  const total = story.version;
  const edition = view.edition;
  const isTime = search.scale === 'time';
  // biome-ignore lint/correctness/useExhaustiveDependencies: the story changes by its edition
  const folded = useMemo(() => new FoldedTime(story.moments, story.timeOf(story.version)), [story, edition]);
  const scale = useMemo(() => scaleOf(story, isTime ? folded : null), [story, isTime, folded]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  const marks = useMemo(() => marksOf(story, scale.place), [story, edition, scale]);

  const to = (next: number) => go({ at: next >= total ? undefined : Math.max(1, next) }, true);
  useEffect(() => {
    if (!playing) return;
    if (seq >= total) {
      setPlaying(false);
      return;
    }
    const timer = setTimeout(
      () => go({ at: seq + 1 >= total ? undefined : seq + 1 }, true),
      Math.max(16, beat(story, seq, Number(speed))),
    );
    return () => clearTimeout(timer);
  }, [playing, seq, total, story, speed, go, setPlaying]);

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
    if (!playing && seq >= total) go({ at: 1 }, true);
    setPlaying(!playing);
  };
  const share = scale.place(seq);
  const time = total ? millis(story.timeOf(seq)) : '';
  return (
    <section className={css.scrubber} aria-label="Time">
      <IconButton label="First record" onClick={() => to(1)}>
        <SkipBack size={16} />
      </IconButton>
      <IconButton label="Record before" keys="←" onClick={() => to(seq - 1)}>
        <StepBack size={16} />
      </IconButton>
      <IconButton label={playing ? 'Stop' : 'Play'} keys="Space" onClick={toggle}>
        {playing ? <Pause size={16} /> : <Play size={16} />}
      </IconButton>
      <IconButton label="Next record" keys="→" onClick={() => to(seq + 1)}>
        <StepForward size={16} />
      </IconButton>
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
        aria-valuetext={`record ${seq} of ${total}, ${time}, ${story.typeOf(seq)} ${story.stepOf(seq)}`}
        data-live={live || undefined}
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
      <span className={css.wide}>
        <Segmented
          label="Scale"
          value={search.scale ?? 'records'}
          onChange={(value) => go({ scale: value === 'time' ? 'time' : undefined })}
          options={[
            { value: 'records', label: 'records' },
            { value: 'time', label: 'time' },
          ]}
        />
      </span>
      <Button
        icon={Radio}
        pressed={live}
        onClick={() => go({ at: undefined })}
        title="Follow the present (l)"
      >
        Live
      </Button>
    </section>
  );
}
