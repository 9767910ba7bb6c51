import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type ReactNode, type Ref, useEffect, useRef } from 'react';
import { ROW, useDensity } from './density';
import css from './kit.module.css';

export interface Column<T> {
  id: string;
  /** What stands above it. */
  head: ReactNode;
  /** As in a CSS grid: `120px`, `minmax(80px, 1fr)`. */
  width: string;
  cell: (row: T, index: number) => ReactNode;
}

/** Rows, all of them, or as many as are here: one that is not is left blank. */
export interface Rows<T> {
  readonly length: number;
  at(n: number): T | undefined;
}

interface Props<T> {
  label: string;
  columns: readonly Column<T>[];
  rows: Rows<T>;
  /** How many rows there are, where not all of them are here. */
  total?: number;
  rowHeight?: number;
  keyOf: (row: T) => string;
  /** The key of the row that is selected. */
  selected?: string | null;
  /** Its number, where that is known: very many rows are not searched for it then. */
  selectedAt?: number;
  onSelect?: (row: T) => void;
  onOpen?: (row: T) => void;
  /** Called when the last rows come into view. */
  onEnd?: () => void;
  /** Called with the first and the last row that are in view, or nearly. */
  onView?: (first: number, last: number) => void;
  onTop?: (atTop: boolean) => void;
  /** Keys that the table does not know. */
  onKey?: (event: KeyboardEvent, row: T | undefined) => void;
  /** Rows that are not quite there: of the time after the one that is shown. */
  isFaint?: (row: T) => boolean;
  /** Stay at the end while rows are added there. */
  follow?: boolean;
  empty?: ReactNode;
}

const NEAR = 20;
/** How tall the heads of columns are. */
const HEAD = 30;

/** A cell that is too narrow for what it says has all of it in its title. */
function revealed(under: Element): void {
  const cell = under.closest<HTMLElement>('[role=gridcell]');
  if (cell) cell.title = cell.scrollWidth > cell.clientWidth ? (cell.textContent ?? '') : '';
}

/** A link in a cell leads somewhere: its row is not meant. */
function isLink(target: EventTarget): boolean {
  return target instanceof Element && target.closest('a[href]') !== null;
}

function numberOf<T>(rows: Rows<T>, isIt: (row: T) => boolean): number {
  for (let n = 0; n < rows.length; n++) if (isIt(rows.at(n)!)) return n;
  return -1;
}

/** Rows in a window: as many as you like, of which those are in the page that are seen. */
export function VirtualTable<T>(props: Props<T>) {
  const near = ROW[useDensity()];
  const { rows, columns, rowHeight = near, selected, keyOf, onEnd, onTop, onView, follow } = props;
  const box = useRef<HTMLDivElement>(null);
  const view = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    scrollPaddingEnd: HEAD, // rows begin below the heads of columns, which stay
    initialRect: { width: 800, height: 600 },
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: other heights are measured anew
  useEffect(() => view.measure(), [rowHeight]);
  const items = view.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => onView?.(first, last), [first, last, onView]);
  useEffect(() => {
    if (rows.length && last >= rows.length - NEAR) onEnd?.();
  }, [last, rows.length, onEnd]);
  useEffect(() => {
    if (follow && rows.length) view.scrollToIndex(rows.length - 1, { align: 'end' });
  }, [follow, rows.length, view]);
  const at = props.selectedAt ?? (selected ? numberOf(rows, (row) => keyOf(row) === selected) : -1);
  useEffect(() => {
    if (at >= 0 && !follow) view.scrollToIndex(at, { align: 'auto' });
  }, [at, follow, view]);
  const template = columns.map((column) => column.width).join(' ');
  const focused = () => {
    const index = Number((document.activeElement as HTMLElement | null)?.dataset.index ?? -1);
    return Number.isInteger(index) ? index : -1;
  };
  const press = (event: KeyboardEvent) => {
    const here = focused() >= 0 ? focused() : at;
    const jump = {
      ArrowDown: here + 1,
      j: here + 1,
      ArrowUp: here - 1,
      k: here - 1,
      Home: 0,
      End: rows.length - 1,
    }[event.key];
    if (jump === undefined || event.ctrlKey || event.metaKey || event.altKey) {
      const row = here < 0 ? undefined : rows.at(here);
      if (event.key === 'Enter' && row) props.onOpen?.(row);
      else props.onKey?.(event, row);
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    const to = Math.max(0, Math.min(rows.length - 1, jump));
    const row = rows.at(to);
    view.scrollToIndex(to, { align: 'auto' });
    if (row === undefined) return;
    props.onSelect?.(row);
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(`[data-index="${to}"]`)?.focus());
  };
  if (!rows.length) {
    return (
      <section className={css.table} aria-label={props.label} ref={box as Ref<HTMLElement>}>
        {props.empty}
      </section>
    );
  }
  return (
    <div
      ref={box}
      className={css.table}
      role="grid"
      aria-label={props.label}
      aria-rowcount={(props.total ?? rows.length) + 1}
      tabIndex={-1}
      onKeyDown={press}
      onPointerOver={(event) => revealed(event.target as Element)}
      onScroll={(event) => onTop?.(event.currentTarget.scrollTop < rowHeight)}
    >
      <div className={css.head} role="row" style={{ gridTemplateColumns: template }} tabIndex={-1}>
        {columns.map((column) => (
          <div key={column.id} role="columnheader">
            {column.head}
          </div>
        ))}
      </div>
      <div className={css.body} style={{ height: view.getTotalSize() }} role="rowgroup">
        {items.map((item) => {
          const row = rows.at(item.index);
          if (row === undefined) return null;
          const isSelected = item.index === at;
          return (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the grid hears the keys
            <div
              key={keyOf(row)}
              className={css.line}
              role="row"
              data-index={item.index}
              aria-rowindex={item.index + 2}
              aria-selected={isSelected}
              data-faint={props.isFaint?.(row) || undefined}
              tabIndex={isSelected || (at < 0 && item.index === 0) ? 0 : -1}
              style={{
                gridTemplateColumns: template,
                height: rowHeight,
                transform: `translateY(${item.start}px)`,
              }}
              onClick={(event) => isLink(event.target) || props.onSelect?.(row)}
              onDoubleClick={() => props.onOpen?.(row)}
            >
              {columns.map((column) => (
                <div key={column.id} role="gridcell" className="cut">
                  {column.cell(row, item.index)}
                </div>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}
