import { type PointerEvent, useEffect, useMemo, useRef, useState } from 'react';
import { duration, millis, type Token } from '../../../kit';
import { useTheme } from '../../../kit/theme';
import { FoldedTime } from '../../../story/play';
import { TOKEN_OF_BAR } from '../looks';
import type { View } from '../view';
import { barAt, type Lane, lanesOf, spanOf } from './lanes';
import css from './timeline.module.css';

const LANE = 24;
const NAMES = 120;

function colours(): Record<Token | 'line' | 'raised' | 'text' | 'muted' | 'ground', string> {
  const style = getComputedStyle(document.documentElement);
  const names = [
    'idle',
    'running',
    'waiting',
    'done',
    'partial',
    'failed',
    'stuck',
    'line',
    'raised',
    'text',
    'muted',
    'ground',
  ];
  return Object.fromEntries(
    names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]),
  ) as ReturnType<typeof colours>;
}

/** When every run began and ended. */
export function TimelinePane({ view }: { view: View }) {
  const { story, edition, seq, step, sel } = view;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const theme = useTheme();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the story changes by its edition
  const lanes = useMemo(() => lanesOf(story, seq), [story, edition, seq]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  const scale = useMemo(() => new FoldedTime(story.at, story.timeOf(story.version)), [story, edition]);
  useEffect(() => {
    if (!box.current) return;
    const watch = new ResizeObserver(([entry]) => setWidth(entry?.contentRect.width ?? 0));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  const room = Math.max(40, width - NAMES - 24);
  const height = lanes.length * LANE;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours are those of the theme
  useEffect(() => {
    const pen = canvas.current?.getContext('2d');
    if (!pen || !canvas.current || !width) return;
    const ratio = devicePixelRatio || 1;
    canvas.current.width = Math.round(room * ratio);
    canvas.current.height = Math.round(Math.max(1, height) * ratio);
    pen.scale(ratio, ratio);
    const ink = colours();
    pen.clearRect(0, 0, room, height);
    for (const fold of scale.folds) {
      pen.fillStyle = ink.line;
      for (let x = scale.at(fold.from) * room; x < scale.at(fold.to) * room; x += 4)
        pen.fillRect(x, 0, 1, height);
    }
    lanes.forEach((lane, n) => {
      const y = n * LANE;
      pen.fillStyle = ink.raised;
      pen.fillRect(0, y + 5, room, LANE - 10);
      for (const bar of lane.bars) {
        const span = spanOf(story, bar, seq, scale);
        const isChosen = sel?.kind === 'run' && sel.run === bar.run;
        const colour = ink[span.isOpen ? 'running' : (TOKEN_OF_BAR[bar.state] ?? 'idle')];
        pen.fillStyle = colour;
        pen.globalAlpha = lane.bars.length > 4 && !isChosen ? 0.6 : 1;
        pen.fillRect(span.from * room, y + 5, Math.max(2, (span.to - span.from) * room), LANE - 10);
        pen.globalAlpha = 1;
        if (isChosen) {
          pen.strokeStyle = ink.text;
          pen.strokeRect(span.from * room, y + 4, Math.max(3, (span.to - span.from) * room), LANE - 8);
        }
      }
    });
    const now = scale.at(story.timeOf(seq)) * room;
    pen.fillStyle = ink.text;
    pen.fillRect(Math.min(room - 1, now), 0, 1, height);
  }, [lanes, width, room, height, seq, scale, story, sel, theme]);
  const pick = (event: PointerEvent<HTMLCanvasElement>) => {
    const area = event.currentTarget.getBoundingClientRect();
    const lane = lanes[Math.floor((event.clientY - area.top) / LANE)];
    if (!lane) return;
    const share = (event.clientX - area.left) / area.width;
    const bar = barAt(spansOf(view, lane, scale), share, 3 / room);
    view.select(bar ? { kind: 'run', run: bar.run } : { kind: 'step', step: lane.step });
  };
  const total = story.version ? story.timeOf(seq) - story.timeOf(1) : 0;
  return (
    <section className={css.pane} aria-label="Timeline" data-pane="timeline">
      <div className={css.bar}>
        <h3>Timeline</h3>
        <span className="muted" aria-live="off">
          {story.version ? `${millis(story.timeOf(1))} + ${duration(total)}` : ''}
          {scale.folds.length ? ` · ${scale.folds.length} idle folded` : ''}
        </span>
      </div>
      <div className={css.scroll} ref={box}>
        <div className={css.lanes} style={{ height: Math.max(1, height) }}>
          <ul style={{ width: NAMES }}>
            {lanes.map((lane) => (
              <li key={lane.step} style={{ height: LANE }}>
                <button
                  type="button"
                  className="cut data"
                  data-selected={lane.step === step || undefined}
                  onClick={() => view.select({ kind: 'step', step: lane.step })}
                  title={`${lane.step}: ${lane.bars.length} runs`}
                >
                  {lane.step}
                </button>
              </li>
            ))}
          </ul>
          <canvas
            ref={canvas}
            style={{ width: room, height: Math.max(1, height) }}
            onPointerDown={pick}
            role="img"
            aria-label={`${lanes.length} steps with ${story.bars.length} runs; the log and the table of steps say the same`}
          />
        </div>
      </div>
    </section>
  );
}

function spansOf(view: View, lane: Lane, scale: FoldedTime) {
  return lane.bars.map((bar) => spanOf(view.story, bar, view.seq, scale));
}
