import { useQuery } from '@tanstack/react-query';
import { type PointerEvent, useState } from 'react';
import { counts } from '../../api/calls';
import { keys } from '../../api/keys';
import type { ListQuery } from '../../api/lists';
import type { Counts } from '../../api/shapes';
import { lookOf, plural, shortTime } from '../../kit';
import css from './executions.module.css';

const HOUR = 3_600_000;
const HOURS_MAX = 24 * 7;
const HOURS_MIN = 24;

export interface Bar {
  at: number;
  total: number;
  parts: { status: string; count: number }[];
}

/** The hours of a count, without holes, at most a week of them and at least a day. */
export function barsOf(found: Counts, now: number): Bar[] {
  const byHour = new Map<number, Record<string, number>>();
  for (const [hour, statuses] of Object.entries(found.statuses ?? {})) byHour.set(Date.parse(hour), statuses);
  const last = Math.floor(now / HOUR) * HOUR;
  const first = Math.min(last - (HOURS_MIN - 1) * HOUR, ...byHour.keys());
  const from = Math.max(first, last - (HOURS_MAX - 1) * HOUR);
  const bars: Bar[] = [];
  for (let at = from; at <= last; at += HOUR) {
    const parts = Object.entries(byHour.get(at) ?? {}).map(([status, count]) => ({ status, count }));
    bars.push({ at, parts, total: parts.reduce((sum, part) => sum + part.count, 0) });
  }
  return bars;
}

/** How many began in each hour; dragging over some asks for those. */
export function StartsChart({ query, onChange }: { query: ListQuery; onChange: (query: ListQuery) => void }) {
  const without: ListQuery = { ...query, since: '', until: '' };
  const found = useQuery({
    queryKey: keys.hours(without),
    queryFn: () => counts(without, 'hour'),
    placeholderData: (was) => was,
  });
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const bars = found.data ? barsOf(found.data, Date.now()) : [];
  const most = Math.max(1, ...bars.map((bar) => bar.total));
  const indexAt = (event: PointerEvent<SVGSVGElement>) => {
    const area = event.currentTarget.getBoundingClientRect();
    return Math.max(
      0,
      Math.min(bars.length - 1, Math.floor(((event.clientX - area.left) / area.width) * bars.length)),
    );
  };
  const ask = (one: number, two: number) => {
    const [from, to] = [bars[Math.min(one, two)], bars[Math.max(one, two)]];
    if (!from || !to) return;
    onChange({
      ...query,
      since: new Date(from.at).toISOString(),
      until: new Date(to.at + HOUR).toISOString(),
    });
  };
  const total = bars.reduce((sum, bar) => sum + bar.total, 0);
  return (
    <figure className={css.chart}>
      <svg
        viewBox={`0 0 ${Math.max(1, bars.length)} 24`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${plural(total, 'start')} in ${plural(bars.length, 'hour')}`}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          setDrag([indexAt(event), indexAt(event)]);
        }}
        onPointerMove={(event) => {
          const to = indexAt(event);
          setDrag((was) => (was ? [was[0], to] : null));
        }}
        onPointerUp={() => {
          if (drag) ask(drag[0], drag[1]);
          setDrag(null);
        }}
      >
        {bars.map((bar, n) => {
          let below = 0;
          return (
            <g key={bar.at}>
              <title>{`${shortTime(new Date(bar.at).toISOString())}: ${plural(bar.total, 'start')}`}</title>
              <rect x={n} y={0} width={1} height={24} fill="transparent" />
              {bar.parts.map((part) => {
                const height = (part.count / most) * 22;
                below += height;
                return (
                  <rect
                    key={part.status}
                    x={n + 0.1}
                    y={24 - below}
                    width={0.8}
                    height={height}
                    fill={`var(--${lookOf(part.status).token})`}
                  />
                );
              })}
            </g>
          );
        })}
        {drag ? (
          <rect
            x={Math.min(...drag)}
            y={0}
            width={Math.abs(drag[1] - drag[0]) + 1}
            height={24}
            fill="var(--running)"
            opacity={0.25}
          />
        ) : null}
      </svg>
    </figure>
  );
}
