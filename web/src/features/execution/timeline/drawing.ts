/** The bars of the timeline, on a canvas: ten thousand of them in a few milliseconds. */
import type { Write } from '../../../api/shapes';
import type { Token } from '../../../kit';
import type { Cause } from '../../../story/causes';
import type { FoldedTime } from '../../../story/play';
import { isWait, TOKEN_OF_BAR, tokenOfBar } from '../../../viewer/looks';
import type { Waiting } from '../../../viewer/picture';
import type { Lane } from './lanes';
import { type Window, within } from './span';

export const LANE = 24;
const EDGE = 5;
/** How far the lines of a hatch are apart. */
const HATCH = 5;
/** More runs than this in a lane lie over each other: they are drawn lightly, so that many look dense. */
const DENSE = 4;
const INKS = [
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
  'ground',
] as const;
type Ink = Record<Token | (typeof INKS)[number], string>;

function inks(): Ink {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(INKS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()])) as Ink;
}

export interface Painting {
  lanes: readonly Lane[];
  scale: FoldedTime;
  window: Window;
  room: number;
  height: number;
  /** The run that is selected. */
  chosen: number | null;
  /** The moment that is shown. */
  here: number;
  /** The stretch that somebody is choosing, as a share of what is shown. */
  brush: Window | null;
  /** What is known of its own runs: since when they waited, when their attempts ended. */
  causes: ReadonlyMap<number, Cause> | null;
  /** The runs that stand out, if only some do. */
  path: ReadonlySet<number> | null;
  /** What was written to the variable that is selected: a tick each, in the lane of who wrote it. */
  writes: readonly Pick<Write, 'seq' | 'step'>[] | null;
  /** Why steps do not go on, as far as they do not. */
  waiting: Waiting;
  /** The same of the child that is shown inside it. */
  waitingWithin: Waiting;
}

export function paint(canvas: HTMLCanvasElement, picture: Painting): void {
  const pen = canvas.getContext('2d');
  if (!pen) return;
  const { room, height, window, scale, brush } = picture;
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(room * ratio);
  canvas.height = Math.round(height * ratio);
  pen.scale(ratio, ratio);
  const ink = inks();
  const x = (share: number) => within(window, share) * room;
  pen.fillStyle = ink.line;
  for (const fold of scale.folds) {
    const end = Math.min(room, x(scale.at(fold.to)));
    for (let at = Math.max(0, x(scale.at(fold.from))); at < end; at += 4) pen.fillRect(at, 0, 1, height);
  }
  for (const [n, lane] of picture.lanes.entries()) paintLane(pen, ink, picture, lane, n * LANE);
  pen.fillStyle = ink.text;
  const now = x(scale.at(picture.here));
  if (now >= 0 && now <= room + 1) pen.fillRect(Math.min(room - 1, now), 0, 1, height);
  if (brush) {
    pen.globalAlpha = 0.2;
    pen.fillRect(brush.from * room, 0, (brush.to - brush.from) * room, height);
    pen.globalAlpha = 1;
  }
}

function paintLane(
  pen: CanvasRenderingContext2D,
  ink: Ink,
  picture: Painting,
  lane: Lane,
  top: number,
): void {
  const { room, window, scale, chosen, path } = picture;
  const causes = lane.isWithin ? null : picture.causes;
  const why = (lane.isWithin ? picture.waitingWithin : picture.waiting).get(lane.step);
  const goesOn = why && isWait(why) ? 'waiting' : 'running';
  pen.fillStyle = ink.raised;
  pen.fillRect(0, top + EDGE, room, LANE - 2 * EDGE);
  const x = (time: number) => within(window, scale.at(time)) * room;
  paintBands(pen, ink, picture, lane, top);
  // what would lie within a pixel that has this colour already is left out: very many bars cost no more than their lane
  let [inked, last] = [-3, ''];
  for (const bar of lane.bars) {
    const isOpen = bar.last === 0 || bar.last > lane.seq;
    const to = x(isOpen ? picture.here : bar.to);
    if (to < -2) continue;
    const from = x(bar.from);
    if (from > room) continue;
    const colour = ink[isOpen ? goesOn : tokenOfBar(lane.story, bar)];
    const isChosen = !lane.isWithin && chosen === bar.run;
    const cause = causes?.get(bar.run);
    if (cause) paintWait(pen, ink, x(cause.since), from, top);
    if (Math.max(to, from + 2) <= inked && colour === last && !isChosen) continue;
    [inked, last] = [Math.max(inked, Math.ceil(Math.max(to, from + 2))), colour];
    const [left, width] = [Math.max(-2, from), Math.min(room + 2, to) - Math.max(-2, from)];
    pen.fillStyle = colour;
    const isBehind = path !== null && (lane.isWithin || !path.has(bar.run));
    pen.globalAlpha = isBehind ? 0.25 : lane.count > DENSE && !isChosen ? 0.6 : 1;
    pen.fillRect(left, top + EDGE, Math.max(2, width), LANE - 2 * EDGE);
    pen.globalAlpha = 1;
    if (path && !isBehind) {
      pen.fillStyle = ink.text;
      pen.fillRect(left, top + LANE - EDGE, Math.max(2, width), 2);
    }
    for (const time of cause?.tries ?? []) if (time <= picture.here) paintTry(pen, ink, x(time), top);
    if (isChosen) {
      pen.strokeStyle = ink.text;
      pen.strokeRect(left, top + EDGE - 1, Math.max(3, width), LANE - 2 * EDGE + 2);
    }
  }
  paintWrites(pen, ink, picture, lane, top);
}

/** When the step of a lane wrote what is selected. */
function paintWrites(
  pen: CanvasRenderingContext2D,
  ink: Ink,
  picture: Painting,
  lane: Lane,
  top: number,
): void {
  const { room, window, scale, writes } = picture;
  if (lane.isWithin) return;
  pen.fillStyle = ink.text;
  for (const write of writes ?? []) {
    if (write.step !== lane.step || write.seq > lane.seq) continue;
    const at = within(window, scale.at(lane.story.timeOf(write.seq))) * room;
    if (at >= 0 && at <= room) pen.fillRect(Math.min(room - 3, at - 1), top + 1, 3, LANE - 2);
  }
}

/** Since when it waited before it began: hatched. */
function paintWait(pen: CanvasRenderingContext2D, ink: Ink, from: number, to: number, top: number): void {
  if (to - from < 2 || to < 0) return;
  const [left, height] = [Math.max(-HATCH, from), LANE - 2 * EDGE];
  pen.save();
  pen.beginPath();
  pen.rect(left, top + EDGE, to - left, height);
  pen.clip();
  pen.strokeStyle = ink.idle;
  pen.lineWidth = 1;
  for (let at = left - height; at < to; at += HATCH) {
    pen.moveTo(at, top + EDGE + height);
    pen.lineTo(at + height, top + EDGE);
  }
  pen.stroke();
  pen.restore();
}

/** An attempt ended here, and another one began: a notch. */
function paintTry(pen: CanvasRenderingContext2D, ink: Ink, at: number, top: number): void {
  pen.fillStyle = ink.ground;
  pen.fillRect(at - 1, top + EDGE, 2, LANE - 2 * EDGE);
}

/** Where runs are not held one by one, when there were any; what is held is left free for them. */
function paintBands(
  pen: CanvasRenderingContext2D,
  ink: Ink,
  { room, window, scale, here }: Painting,
  lane: Lane,
  top: number,
): void {
  const fill = (colour: string, alpha: number, from: number, to: number) => {
    const [left, right] = [from, Math.min(to, here)].map((time) => within(window, scale.at(time)) * room);
    if (left === undefined || right === undefined || right < 0 || left > room || to < from) return;
    pen.fillStyle = colour;
    pen.globalAlpha = alpha;
    pen.fillRect(Math.max(-2, left), top + EDGE, Math.max(1, Math.min(room + 2, right) - Math.max(-2, left)), LANE - 2 * EDGE); // biome-ignore format: one line
    pen.globalAlpha = 1;
  };
  for (const band of lane.story.bandsOf(lane.step))
    if (band.from <= here) fill(ink[TOKEN_OF_BAR[band.state] ?? 'idle'], 0.6, band.from, band.to);
  for (const { from, to, isThroughout } of lane.story.exact(lane.step)) {
    if (from > here) continue;
    fill(ink.raised, 1, from, to);
    if (isThroughout) fill(ink.running, 0.6, from, to);
  }
}
