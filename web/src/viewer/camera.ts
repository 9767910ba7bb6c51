/** Where the graph is looked at from: the point in the middle and how close, whatever the size of the window. */

export interface Camera {
  x: number;
  y: number;
  zoom: number;
}
export interface Viewport {
  x: number;
  y: number;
  zoom: number;
}
export interface Area {
  width: number;
  height: number;
}

export const ZOOM_MIN = 0.05;
export const ZOOM_MAX = 2;
const FAR = 1e6;

/** Read a camera of the address, `x,y,zoom`; null where it is none. */
export function readCamera(text: string | undefined): Camera | null {
  const [x, y, zoom, ...rest] = (text ?? '')
    .split(',')
    .map((part) => (part === '' ? Number.NaN : Number(part)));
  if (x === undefined || y === undefined || zoom === undefined || rest.length) return null;
  const isSane = Math.abs(x) < FAR && Math.abs(y) < FAR && zoom >= ZOOM_MIN && zoom <= ZOOM_MAX;
  return isSane ? { x, y, zoom } : null;
}

export function writeCamera({ x, y, zoom }: Camera): string {
  return `${Math.round(x)},${Math.round(y)},${Number(zoom.toFixed(3))}`;
}

/** What the drawing is moved by so that a camera sees what it should. */
export function viewportOf(camera: Camera, area: Area): Viewport {
  const { zoom } = camera;
  return { x: area.width / 2 - camera.x * zoom, y: area.height / 2 - camera.y * zoom, zoom };
}

interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}

/** Whether all of a box is seen. */
export function sees(view: Viewport, area: Area, { x, y, w, h }: Box): boolean {
  const [left, top] = [x * view.zoom + view.x, y * view.zoom + view.y];
  return left >= 0 && top >= 0 && left + w * view.zoom <= area.width && top + h * view.zoom <= area.height;
}

/** The same view, or one as close with a box in its middle, where not all of it is seen. */
export function seeing(view: Viewport, area: Area, box: Box | undefined): Viewport {
  if (!box || sees(view, area, box)) return view;
  return viewportOf({ x: box.x + box.w / 2, y: box.y + box.h / 2, zoom: view.zoom }, area);
}

export function cameraOf(view: Viewport, area: Area): Camera {
  return {
    x: (area.width / 2 - view.x) / view.zoom,
    y: (area.height / 2 - view.y) / view.zoom,
    zoom: view.zoom,
  };
}
