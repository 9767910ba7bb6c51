import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, type PointerEvent, useEffect, useMemo, useRef, useState } from 'react';
import { iterationMap } from '../../../api/calls';
import { keys } from '../../../api/keys';
import { Button, duration, ErrorBox, number, Skeleton } from '../../../kit';
import { useTheme } from '../../../kit/theme';
import type { View } from '../view';
import { cellsOf, nextIn, STATES, TOKENS, tallyOf, unpacked } from './maps';
import css from './side.module.css';

const GAP = 1;
const HEIGHT = 220;

/** How large a cell can be for all of them to fit. */
export function cellSize(width: number, count: number): number {
  for (const size of [14, 12, 10, 8, 6, 5, 4, 3]) {
    if (Math.ceil(count / Math.max(1, Math.floor(width / size))) * size <= HEIGHT) return size;
  }
  return 3;
}

/** All iterations of a loop: a cell each, in the order of their indices. */
export function LoopMap({ view, run, chosen }: { view: View; run: number; chosen?: number }) {
  const bar = view.story.barOf(run);
  const version = bar?.last || view.story.version;
  const found = useQuery({
    queryKey: keys.map(view.id, run, version),
    queryFn: () => iterationMap(view.id, run),
    placeholderData: (was) => was,
  });
  const turns = useMemo(() => (found.data ? unpacked(found.data) : null), [found.data]);
  const cells = useMemo(() => (turns ? cellsOf(turns, view.seq) : null), [turns, view.seq]);
  const tally = useMemo(() => (turns ? tallyOf(turns, view.seq) : null), [turns, view.seq]);
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(320);
  const theme = useTheme();
  useEffect(() => {
    if (!box.current) return;
    const watch = new ResizeObserver(([entry]) => setWidth(Math.max(60, entry?.contentRect.width ?? 320)));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  const size = cells ? cellSize(width, cells.state.length) : 10;
  const across = Math.max(1, Math.floor(width / size));
  const rows = cells ? Math.ceil(cells.state.length / across) : 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours are those of the theme
  useEffect(() => {
    const pen = canvas.current?.getContext('2d');
    if (!pen || !canvas.current || !cells) return;
    const ratio = devicePixelRatio || 1;
    canvas.current.width = Math.round(across * size * ratio);
    canvas.current.height = Math.round(Math.max(1, rows) * size * ratio);
    pen.scale(ratio, ratio);
    const style = getComputedStyle(document.documentElement);
    const ink = TOKENS.map((token) => style.getPropertyValue(`--${token}`).trim());
    const line = style.getPropertyValue('--line').trim();
    cells.state.forEach((state, n) => {
      pen.globalAlpha = state === 2 || state === 3 ? 0.45 + 0.55 * (cells.shade[n] ?? 0) : 1;
      pen.fillStyle = state === 0 ? line : (ink[state] ?? line);
      pen.fillRect((n % across) * size, Math.floor(n / across) * size, size - GAP, size - GAP);
    });
    pen.globalAlpha = 1;
    if (chosen !== undefined) {
      const cell = Math.floor(chosen / cells.each);
      pen.strokeStyle = style.getPropertyValue('--text').trim();
      pen.lineWidth = 2;
      pen.strokeRect(
        (cell % across) * size + 0.5,
        Math.floor(cell / across) * size + 0.5,
        size - 2,
        size - 2,
      );
    }
  }, [cells, across, rows, size, chosen, theme]);
  if (found.isPending) return <Skeleton lines={3} />;
  if (found.isError) return <ErrorBox error={found.error} />;
  if (!turns || !cells || !tally) return null;
  const pick = (n: number) => {
    if (n >= 0 && n < turns.count) view.select({ kind: 'iter', run, n });
  };
  const click = (event: PointerEvent<HTMLCanvasElement>) => {
    const area = event.currentTarget.getBoundingClientRect();
    const [x, y] = [
      Math.floor((event.clientX - area.left) / size),
      Math.floor((event.clientY - area.top) / size),
    ];
    if (x < across) pick((y * across + x) * cells.each);
  };
  const press = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -across, ArrowDown: across }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    pick(Math.max(0, Math.min(turns.count - 1, (chosen ?? -1) + by * cells.each)));
  };
  const words = STATES.map((state, n) => `${number(tally.counts[n] ?? 0)} ${state.replace('_', ' ')}`)
    .filter((word) => !word.startsWith('0 '))
    .join(' · ');
  return (
    <div className="stack tight" ref={box}>
      <p data-testid="loop">
        {words}
        {tally.p50 !== null ? ` · p50 ${duration(tally.p50)} · p95 ${duration(tally.p95 ?? 0)}` : ''}
      </p>
      <canvas
        ref={canvas}
        className={css.map}
        style={{ width: across * size, height: Math.max(1, rows) * size }}
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
