import { type KeyboardEvent, type PointerEvent, useEffect, useMemo, useRef } from 'react';
import { Button, duration, ErrorBox, number, Skeleton, useWidth } from '../../../kit';
import { useTheme } from '../../../kit/theme';
import type { View } from '../view';
import {
  type Cells,
  cellAt,
  cellBeside,
  cellsOf,
  type Grid,
  gridOf,
  nextIn,
  STATES,
  TOKENS,
  tallyOf,
} from './maps';
import css from './side.module.css';
import { useTurns } from './useTurns';

const GAP = 1;

/** All iterations of a loop: a cell each, in the order of their indices; of a nested one, outer ones line by line. */
export function LoopMap({ view, run, chosen }: { view: View; run: number; chosen?: number }) {
  const { found, turns } = useTurns(view.id, run, view.story.barOf(run)?.last ?? 0);
  const cells = useMemo(() => (turns ? cellsOf(turns, view.seq) : null), [turns, view.seq]);
  const tally = useMemo(() => (turns ? tallyOf(turns, view.seq) : null), [turns, view.seq]);
  const [box, measured] = useWidth(320);
  const width = Math.max(60, measured);
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const count = cells?.state.length ?? 0;
  const rows = cells?.each === 1 ? turns?.rows : undefined;
  const grid = useMemo(() => gridOf(count, rows ?? [], width), [count, rows, width]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours are those of the theme
  useEffect(() => {
    const at = chosen === undefined || !cells ? -1 : Math.floor(chosen / cells.each);
    if (canvas.current && cells) paint(canvas.current, grid, cells, at);
  }, [cells, grid, chosen, theme]);
  if (found.isPending) return <Skeleton lines={3} />;
  if (found.isError) return <ErrorBox error={found.error} />;
  if (!turns || !cells || !tally) return null;
  const pick = (n: number) => {
    if (n >= 0 && n < turns.count) view.select({ kind: 'iter', run, n });
  };
  const click = (event: PointerEvent<HTMLCanvasElement>) => {
    const area = event.currentTarget.getBoundingClientRect();
    const column = Math.floor((event.clientX - area.left - grid.indent) / grid.size);
    const cell = cellAt(grid, column, Math.floor((event.clientY - area.top) / grid.size));
    pick(cell * cells.each);
  };
  const press = (event: KeyboardEvent) => {
    if (!event.key.startsWith('Arrow')) return;
    event.preventDefault();
    event.stopPropagation();
    const from = chosen === undefined ? -1 : Math.floor(chosen / cells.each);
    pick(cellBeside(grid, from, event.key) * cells.each);
  };
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
        onPointerDown={click}
        onKeyDown={press}
      />
      {(tally.counts[3] ?? 0) > 0 ? (
        <div>
          <Button onClick={() => pick(nextIn(turns, view.seq, chosen ?? -1, 3))}>Next that failed</Button>
        </div>
      ) : null}
    </div>
  );
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
