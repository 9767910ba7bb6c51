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

export function cameraOf(view: Viewport, area: Area): Camera {
  return {
    x: (area.width / 2 - view.x) / view.zoom,
    y: (area.height / 2 - view.y) / view.zoom,
    zoom: view.zoom,
  };
}
