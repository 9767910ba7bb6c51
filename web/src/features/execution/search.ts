import { list, oneOf, type Raw, text, whole } from '../../kit/search';
import { readSel, writeSel } from '../../story/sel';
import { readCamera, writeCamera } from '../../viewer/camera';
import { ONLY, type Only } from '../../viewer/looks';
import { readSpan, writeSpan } from './timeline/span';

export const TABS = ['step', 'explain', 'ctx', 'io', 'logs', 'family', 'source'] as const;
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
  /** What the log is about, whatever is selected; `all` is everything. */
  pin?: string;
  /** The level of the log: `all` records, or the important ones. */
  level?: 'all';
  scale?: 'time';
  table?: 'yes';
  /** Where the graph is looked at from. */
  cam?: string;
  /** The execution that is shown inside this one, and the run that started it. */
  child?: string;
  /** The stretch of the timeline that is shown, in milliseconds from its start. */
  x?: string;
  /** The timeline shows which runs the last one waited for. */
  path?: 'yes';
  /** Which steps stand out on the graph. */
  only?: Only;
}

/** What the address says of it: the number of the run, and the execution. */
export function readChild(text: string | undefined): { run: number; id: string } | null {
  const found = /^(\d{1,9})\/([\w.:-]{1,200})$/.exec(text ?? '');
  return found ? { run: Number(found[1]), id: found[2]! } : null;
}

/** What the address says, checked: what it should not say is as if it did not. */
export function executionSearch(raw: Raw): ExecutionSearch {
  const sel = readSel(text(raw, 'sel'));
  const [cam, span] = [readCamera(text(raw, 'cam')), readSpan(text(raw, 'x'))];
  const pin = text(raw, 'pin');
  const show = list(raw, 'show')?.filter((one): one is PaneName => PANES.some((pane) => pane === one));
  return {
    at: whole(raw, 'at'),
    sel: sel ? writeSel(sel) : undefined,
    tab: oneOf(raw, 'tab', TABS),
    lens: oneOf(raw, 'lens', ['net']),
    show: show?.length ? show : undefined,
    focus: oneOf(raw, 'focus', PANES),
    log: text(raw, 'log'),
    pin: pin === 'all' || readSel(pin) ? pin : undefined,
    level: oneOf(raw, 'level', ['all']),
    scale: oneOf(raw, 'scale', ['time']),
    table: oneOf(raw, 'table', ['yes']),
    cam: cam ? writeCamera(cam) : undefined,
    child: readChild(text(raw, 'child')) ? text(raw, 'child') : undefined,
    x: span ? writeSpan(span) : undefined,
    path: oneOf(raw, 'path', ['yes']),
    only: oneOf(raw, 'only', ONLY),
  };
}
