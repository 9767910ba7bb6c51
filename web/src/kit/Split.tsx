import { type KeyboardEvent, type PointerEvent, type ReactNode, useRef, useState } from 'react';
import css from './kit.module.css';
import { recalled, remember } from './memory';

interface Props {
  axis: 'x' | 'y';
  /** Under this name the place of the bar is remembered in this browser. */
  name: string;
  label: string;
  /** The share of the first part. */
  start: number;
  first: ReactNode;
  second: ReactNode;
}

const LEAST = 0.12;
const STEP = 0.04;

const within = (share: number) => Math.min(1 - LEAST, Math.max(LEAST, share));

/** Two parts with a bar between them, moved by hand or with the arrow keys. */
export function Split({ axis, name, label, start, first, second }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [share, setShare] = useState(() => within(Number(recalled(`split.${name}`)) || start));
  const place = (next: number) => {
    const kept = within(next);
    setShare(kept);
    remember(`split.${name}`, String(kept));
  };
  const drag = (event: PointerEvent<HTMLHRElement>) => {
    if (!event.currentTarget.hasPointerCapture(event.pointerId) || !box.current) return;
    const area = box.current.getBoundingClientRect();
    place(axis === 'x' ? (event.clientX - area.left) / area.width : (event.clientY - area.top) / area.height);
  };
  const press = (event: KeyboardEvent) => {
    const back = event.key === (axis === 'x' ? 'ArrowLeft' : 'ArrowUp');
    const on = event.key === (axis === 'x' ? 'ArrowRight' : 'ArrowDown');
    if (!back && !on) return;
    event.preventDefault();
    event.stopPropagation();
    place(share + (on ? STEP : -STEP));
  };
  return (
    <div ref={box} className={css.split} data-axis={axis}>
      <section style={{ flex: `${share} 1 0` }}>{first}</section>
      <hr
        className={css.bar}
        aria-orientation={axis === 'x' ? 'vertical' : 'horizontal'}
        aria-label={label}
        aria-valuenow={Math.round(share * 100)}
        aria-valuemin={Math.round(LEAST * 100)}
        aria-valuemax={Math.round((1 - LEAST) * 100)}
        tabIndex={0}
        style={{ margin: 0, border: 0 }}
        onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
        onPointerMove={drag}
        onKeyDown={press}
      />
      <section style={{ flex: `${1 - share} 1 0` }}>{second}</section>
    </div>
  );
}
