import { Maximize, Waypoints, ZoomIn, ZoomOut } from 'lucide-react';
import { type PointerEvent, useEffect, useMemo, useRef, useState } from 'react';
import { duration, IconButton, millis, Name, OVER, useNow, useWidth } from '../../../kit';
import { useTheme } from '../../../kit/theme';
import { Causes, criticalPath } from '../../../story/causes';
import { FoldedTime } from '../../../story/play';
import type { StoryStore } from '../../../story/store';
import type { Waiting } from '../../../viewer/picture';
import type { View } from '../view';
import { LANE, paint } from './drawing';
import { barAt, type Lane, laneInWords, lanesOf, lanesWith, spanOf } from './lanes';
import { ALL, readSpan, shifted, type Window, without, writeSpan, zoomed } from './span';
import css from './timeline.module.css';

const NAMES = 120;
const NOTHING: Waiting = new Map();
/** A press that moves less than this is a click. */
const STILL = 4;

/** What is shown of the scale, as the address says; and how to change that. */
function useWindow(view: View, scale: FoldedTime) {
  const said = view.search.x;
  const shown = useMemo<Window>(() => {
    const span = readSpan(said);
    if (!span) return ALL;
    const [from, to] = [scale.at(scale.start + span.from), scale.at(scale.start + span.to)];
    return to > from ? { from, to } : ALL;
  }, [said, scale]);
  const show = (next: Window | null) => {
    const isAll = !next || (next.from <= 0 && next.to >= 1);
    const [from, to] = next ? [scale.time(next.from), scale.time(next.to)] : [0, 0];
    view.go({ x: isAll ? undefined : writeSpan({ from: from - scale.start, to: to - scale.start }) }, true);
  };
  return { shown, show };
}

/** Have the runs held of a stretch of time that is short enough. */
function useExact(story: StoryStore, edition: number, scale: FoldedTime, shown: Window): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: what could not be fetched is asked for again
  useEffect(() => {
    const [first, last] = [shown.from, shown.to].map((share) => story.seqAt(scale.time(share)));
    if (story.isWhole || first === undefined || last === undefined || last - first > story.held.block) return;
    for (const seq of [first, Math.min(last + 1, story.version)]) void story.want(seq);
  }, [story, edition, scale, shown]);
}

function onPath(lane: Lane, path: ReadonlySet<number>): boolean {
  return !lane.isWithin && lane.bars.some((bar) => path.has(bar.run));
}

/** When every run began and ended. The wheel narrows, a drag chooses a stretch. */
export function TimelinePane({ view }: { view: View }) {
  const { story, edition, seq, step, sel, child } = view;
  const [box, width] = useWidth();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [brush, setBrush] = useState<Window | null>(null);
  const theme = useTheme();
  const goesOn = view.live && !OVER.has(view.head.status);
  const now = useNow(goesOn);
  const last = story.timeOf(story.version);
  const end = goesOn ? Math.max(now, last) : last;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the story changes by its edition
  const lanes = useMemo(() => lanesWith(lanesOf(story, seq), child), [story, edition, seq, child]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  const scale = useMemo(() => new FoldedTime(story.moments, end), [story, edition, end]);
  const { shown, show } = useWindow(view, scale);
  useExact(story, view.edition, scale, shown);
  const room = Math.max(40, width - NAMES - 24);
  const height = Math.max(1, lanes.length * LANE);
  const read = useMemo(() => new Causes(story), [story]);
  const causes = read.known();
  const isPath = view.search.path === 'yes' && causes !== null;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the story changes by its edition
  const path = useMemo(
    () => (isPath && causes ? criticalPath(story, causes, seq) : null),
    [isPath, story, edition, seq],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours are those of the theme
  useEffect(() => {
    if (!canvas.current || !width) return;
    const chosen = sel?.kind === 'run' ? sel.run : null;
    const here = view.live ? end : story.timeOf(seq);
    const waitingWithin = child?.waiting ?? NOTHING;
    const marks = { causes, path, waiting: view.waiting, waitingWithin, writes: view.writes };
    paint(canvas.current, { lanes, scale, window: shown, room, height, chosen, here, brush, ...marks });
  }, [
    lanes,
    causes,
    path,
    view.waiting,
    view.writes,
    child,
    width,
    room,
    height,
    seq,
    scale,
    shown,
    brush,
    story,
    sel,
    theme,
    end,
  ]);

  const wheel = useRef<(event: WheelEvent) => void>(undefined);
  wheel.current = (event) => {
    event.preventDefault();
    const area = canvas.current!.getBoundingClientRect();
    const share = (event.clientX - area.left) / area.width;
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      show(shifted(shown, (event.deltaX / room) * (shown.to - shown.from)));
    } else show(zoomed(shown, share, 1.0018 ** event.deltaY));
  };
  useEffect(() => {
    const element = canvas.current;
    const hear = (event: WheelEvent) => wheel.current?.(event);
    element?.addEventListener('wheel', hear, { passive: false }); // React's own cannot keep the page from scrolling
    return () => element?.removeEventListener('wheel', hear);
  }, []);

  const pressedAt = useRef<number | null>(null);
  const shareOf = (event: PointerEvent<HTMLCanvasElement>) => {
    const area = event.currentTarget.getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - area.left) / area.width));
  };
  const press = (event: PointerEvent<HTMLCanvasElement>) => {
    event.currentTarget.setPointerCapture(event.pointerId);
    pressedAt.current = shareOf(event);
  };
  const drag = (event: PointerEvent<HTMLCanvasElement>) => {
    if (pressedAt.current === null) return;
    const [from, to] = [pressedAt.current, shareOf(event)];
    if (brush || Math.abs(to - from) * room > STILL)
      setBrush({ from: Math.min(from, to), to: Math.max(from, to) });
  };
  const release = (event: PointerEvent<HTMLCanvasElement>) => {
    if (pressedAt.current === null) return;
    pressedAt.current = null;
    setBrush(null);
    if (!brush) pick(event);
    else show({ from: without(shown, brush.from), to: without(shown, brush.to) });
  };
  const pick = (event: PointerEvent<HTMLCanvasElement>) => {
    const area = event.currentTarget.getBoundingClientRect();
    const lane = lanes[Math.floor((event.clientY - area.top) / LANE)];
    if (!lane) return;
    const share = without(shown, shareOf(event));
    const here = view.live ? end : story.timeOf(seq);
    const spans = lane.bars.map((bar) => spanOf(lane.story, bar, lane.seq, scale, here));
    choose(lane, barAt(spans, share, (3 / room) * (shown.to - shown.from))?.run);
  };
  const choose = (lane: Lane, run?: number) => {
    if (lane.isWithin) view.visitChild(lane.step);
    else view.select(run ? { kind: 'run', run } : { kind: 'step', step: lane.step });
  };
  const total = story.version ? (view.live ? end : story.timeOf(seq)) - story.timeOf(1) : 0;
  const isAll = shown === ALL;
  const idle = scale.folds.reduce((sum, fold) => sum + fold.to - fold.from, 0);
  return (
    <section className={css.pane} aria-label="Timeline" data-pane="timeline">
      <div className={css.bar}>
        <h3>Timeline</h3>
        <span className="muted cut grow">
          {story.version ? `${millis(story.timeOf(1))} + ${duration(total)}` : ''}
          {idle ? ` · ${duration(idle)} idle, folded` : ''}
          {isAll ? '' : ` · ${duration(scale.time(shown.to) - scale.time(shown.from))} shown`}
        </span>
        <IconButton
          label="Critical path"
          pressed={isPath}
          why={causes ? null : 'the story is too long for it'}
          onClick={() => view.go({ path: isPath ? undefined : 'yes' }, true)}
        >
          <Waypoints size={14} />
        </IconButton>
        <IconButton label="A shorter time" onClick={() => show(zoomed(shown, 0.5, 0.5))}>
          <ZoomIn size={14} />
        </IconButton>
        <IconButton
          label="A longer time"
          why={isAll ? 'all of it is shown' : null}
          onClick={() => show(zoomed(shown, 0.5, 2))}
        >
          <ZoomOut size={14} />
        </IconButton>
        <IconButton label="All of the time" why={isAll ? 'it is shown' : null} onClick={() => show(null)}>
          <Maximize size={14} />
        </IconButton>
      </div>
      <div className={css.scroll} ref={box}>
        <div className={css.lanes} style={{ height }}>
          <ul style={{ width: NAMES }}>
            {lanes.map((lane) => (
              <li key={`${lane.isWithin} ${lane.step}`} style={{ height: LANE }}>
                <button
                  type="button"
                  className="cut data"
                  data-selected={(!lane.isWithin && lane.step === step) || undefined}
                  data-within={lane.isWithin || undefined}
                  data-path={(path && onPath(lane, path)) || undefined}
                  onClick={() => choose(lane)}
                >
                  <Name title={laneInWords(lane)}>{lane.step}</Name>
                </button>
              </li>
            ))}
          </ul>
          <canvas
            ref={canvas}
            style={{ width: room, height }}
            onPointerDown={press}
            onPointerMove={drag}
            onPointerUp={release}
            onPointerCancel={() => {
              pressedAt.current = null;
              setBrush(null);
            }}
            role="img"
            aria-label={`${lanes.length} steps with ${lanes.reduce((sum, lane) => sum + lane.count, 0)} runs; the log and the table of steps say the same`}
          />
        </div>
      </div>
    </section>
  );
}
