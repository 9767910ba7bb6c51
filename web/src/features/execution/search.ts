import { list, oneOf, type Raw, text, whole } from '../../kit/search';
import { readSel, type Sel, writeSel } from '../../story/select';

export const TABS = ['step', 'explain', 'ctx', 'io', 'logs', 'source'] as const;
export type TabName = (typeof TABS)[number];
export const PANES = ['graph', 'timeline', 'log', 'side'] as const;
export type PaneName = (typeof PANES)[number];

export interface ExecutionSearch {
  /** The record that is shown; absent is live. */
  at?: number;
  sel?: string;
  tab?: TabName;
  lens?: 'net';
  show?: PaneName[];
  focus?: PaneName;
  log?: string;
  /** The level of the log: `all` records, or the important ones. */
  level?: 'all';
  scale?: 'time';
  table?: 'yes';
}

/** What the address says, checked: what it should not say is as if it did not. */
export function executionSearch(raw: Raw): ExecutionSearch {
  const sel = readSel(text(raw, 'sel'));
  const show = list(raw, 'show')?.filter((one): one is PaneName => PANES.some((pane) => pane === one));
  return {
    at: whole(raw, 'at'),
    sel: sel ? writeSel(sel) : undefined,
    tab: oneOf(raw, 'tab', TABS),
    lens: oneOf(raw, 'lens', ['net']),
    show: show?.length ? show : undefined,
    focus: oneOf(raw, 'focus', PANES),
    log: text(raw, 'log'),
    level: oneOf(raw, 'level', ['all']),
    scale: oneOf(raw, 'scale', ['time']),
    table: oneOf(raw, 'table', ['yes']),
  };
}

export function selOf(search: ExecutionSearch): Sel | null {
  return readSel(search.sel);
}
