import { type KeyboardEvent, type PointerEvent, useEffect, useMemo, useRef } from 'react';
import { Answer, Button, duration, number, useWidth } from '../../../kit';
import { useTheme } from '../../../kit/theme';
import {
  type Cells,
  cellAt,
  cellBeside,
  cellInWords,
  cellsOf,
  type Grid,
  gridOf,
  nextIn,
  nextSlow,
  STATES,
  TOKENS,
  type Turns,
  tallyOf,
} from '../../../viewer/maps';
import { useTurns } from '../../../viewer/useTurns';
import type { View } from '../view';
import css from './side.module.css';

const GAP = 1;
const FAILED = STATES.indexOf('failed');
const SMALL = 6;
/** While so few have ended none is called slow. */
const SLOW_OF = 20;

/** All iterations of a loop: a cell each, in the order of their indices; of a nested one, outer ones line by line. */
export function LoopMap({ view, run, chosen }: { view: View; run: number; chosen?: number }) {
  const { found, turns } = useTurns(view.id, run, view.story.barOf(run)?.last ?? 0);
  return (
    <Answer of={found} lines={3}>
      {() => (turns ? <TurnsMap view={view} run={run} chosen={chosen} turns={turns} /> : null)}
    </Answer>
  );
}

interface MapProps {
  view: View;
  run: number;
  chosen: number | undefined;
  turns: Turns;
}

function TurnsMap({ view, run, chosen, turns }: MapProps) {
  const cells = useMemo(() => cellsOf(turns, view.seq), [turns, view.seq]);
  const tally = useMemo(() => tallyOf(turns, view.seq), [turns, view.seq]);
  const [box, measured] = useWidth(320);
  const width = Math.max(60, measured);
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const count = cells.state.length;
  const rows = cells.each === 1 ? turns.rows : undefined;
  const grid = useMemo(() => gridOf(count, rows ?? [], width), [count, rows, width]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours are those of the theme
  useEffect(() => {
    const at = chosen === undefined ? -1 : Math.floor(chosen / cells.each);
    if (canvas.current) paint(canvas.current, grid, cells, at);
  }, [cells, grid, chosen, theme]);
  const pick = (n: number) => {
    if (n >= 0 && n < turns.count) view.select({ kind: 'iter', run, n });
  };
  const under = (event: PointerEvent<HTMLCanvasElement>) => {
    const area = event.currentTarget.getBoundingClientRect();
    const column = Math.floor((event.clientX - area.left - grid.indent) / grid.size);
    return cellAt(grid, column, Math.floor((event.clientY - area.top) / grid.size));
  };
  const point = (event: PointerEvent<HTMLCanvasElement>) => {
    const cell = under(event);
    event.currentTarget.title = cell < 0 ? '' : cellInWords(turns, cells, cell, view.seq);
  };
  const press = (event: KeyboardEvent) => {
    if (!event.key.startsWith('Arrow')) return;
    event.preventDefault();
    event.stopPropagation();
    const from = chosen === undefined ? -1 : Math.floor(chosen / cells.each);
    pick(cellBeside(grid, from, event.key) * cells.each);
  };
  const ended = (tally.counts[2] ?? 0) + (tally.counts[3] ?? 0);
  const words = STATES.map((state, n) => `${number(tally.counts[n] ?? 0)} ${state.replace('_', ' ')}`)
    .filter((word) => !word.startsWith('0 '))
    .join(' · ');
  return (
    <div className="stack tight" ref={box}>
      <p data-testid="loop">
        {words}
        {tally.p50 !== null ? ` · p50 ${duration(tally.p50)} · p95 ${duration(tally.p95 ?? 0)}` : ''}
        {cells.each > 1 ? ` · a cell is ${number(cells.each)} iterations` : ''}
      </p>
      <canvas
        ref={canvas}
        className={css.map}
        style={{ width: grid.width, height: Math.max(1, grid.lines) * grid.size }}
        tabIndex={0}
        role="img"
        aria-label={`${number(turns.count)} iterations: ${words}; arrow keys move`}
        onPointerDown={(event) => pick(under(event) * cells.each)}
        onPointerMove={point}
        onKeyDown={press}
      />
      <div className="row wrap">
        {(tally.counts[3] ?? 0) > 0 ? (
          <Button onClick={() => pick(nextIn(turns, view.seq, chosen ?? -1, 3))}>Next that failed</Button>
        ) : null}
        {tally.p95 !== null && ended > SLOW_OF ? (
          <Button
            onClick={() => pick(nextSlow(turns, view.seq, chosen ?? -1, tally.p95 ?? 0))}
            title={`One of those that took ${duration(tally.p95)} or more`}
          >
            Next slow one
          </Button>
        ) : null}
      </div>
    </div>
  );
}

/** Of cells that are small those that failed are larger than others: ten of ten thousand are looked for. */
function spread(
  pen: CanvasRenderingContext2D,
  { size, indent, column, line }: Grid,
  cells: Cells,
  ink: string,
) {
  pen.fillStyle = ink;
  cells.state.forEach((state, n) => {
    if (state !== FAILED) return;
    pen.fillRect(indent + column[n]! * size - GAP, line[n]! * size - GAP, size + GAP, size + GAP);
  });
}

function paint(canvas: HTMLCanvasElement, grid: Grid, cells: Cells, chosen: number): void {
  const pen = canvas.getContext('2d');
  if (!pen) return;
  const { size, indent } = grid;
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(grid.width * ratio);
  canvas.height = Math.round(Math.max(1, grid.lines) * size * ratio);
  pen.scale(ratio, ratio);
  const style = getComputedStyle(document.documentElement);
  const ink = TOKENS.map((token) => style.getPropertyValue(`--${token}`).trim());
  const line = style.getPropertyValue('--line').trim();
  cells.state.forEach((state, n) => {
    pen.globalAlpha = state === 2 || state === 3 ? 0.45 + 0.55 * (cells.shade[n] ?? 0) : 1;
    pen.fillStyle = state === 0 ? line : (ink[state] ?? line);
    pen.fillRect(indent + grid.column[n]! * size, grid.line[n]! * size, size - GAP, size - GAP);
  });
  pen.globalAlpha = 1;
  if (size < SMALL) spread(pen, grid, cells, ink[FAILED] ?? line);
  if (indent && size >= 8) {
    pen.fillStyle = style.getPropertyValue('--muted').trim();
    pen.font = `${Math.min(11, size)}px monospace`;
    pen.textBaseline = 'top';
    grid.begins.forEach((at, n) => {
      pen.fillText(String(n), 0, at * size + 1);
    });
  }
  if (chosen >= 0 && chosen < grid.line.length) {
    pen.strokeStyle = style.getPropertyValue('--text').trim();
    pen.lineWidth = 2;
    const [x, y] = [indent + grid.column[chosen]! * size, grid.line[chosen]! * size];
    pen.strokeRect(x + 0.5, y + 0.5, size - 2, size - 2);
  }
}
