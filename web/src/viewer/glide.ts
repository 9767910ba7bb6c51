/**
 * Moving the drawing without drawing it anew: while it moves it is one layer that the browser shifts and scales, and once
 * it rests it is drawn sharp. Chrome looks for layers anew, node by node, whenever a transform changes, unless it is that
 * of an animation: so it is one, which stands still and is given its next picture at every move.
 */
import type { Viewport } from './camera';

/** After so long without a move it rests: a wheel that is turned notch by notch is one movement. */
export const REST_MS = 300;

export class Glide {
  #box: HTMLElement;
  #drawing: HTMLElement | null = null;
  #run: Animation | null = null;
  #zoom = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `box` is marked while what is drawn in it moves. */
  constructor(box: HTMLElement) {
    this.#box = box;
  }

  move({ x, y, zoom }: Viewport): void {
    const transform = `translate(${x}px, ${y}px) scale(${zoom})`;
    const frames = [{ transform }, { transform }];
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.rest(), REST_MS);
    if (this.#run) {
      (this.#run.effect as KeyframeEffect).setKeyframes(frames);
      // what is kept as drawn, whatever its scale, would be kept too large for one that is only shifted
      if (zoom !== this.#zoom) this.#drawing?.style.setProperty('will-change', 'transform');
      return;
    }
    this.#drawing = this.#box.querySelector('.react-flow__viewport');
    this.#run = this.#drawing?.animate?.(frames, { duration: 1, fill: 'both' }) ?? null;
    this.#run?.pause();
    this.#zoom = zoom;
    this.#box.toggleAttribute('data-moving', this.#run !== null);
  }

  /** Go along where it moves already: a jump is no movement. */
  follow(view: Viewport): void {
    if (this.#run) this.move(view);
  }

  rest(): void {
    clearTimeout(this.#timer);
    this.#run?.cancel();
    this.#run = null;
    this.#drawing?.style.removeProperty('will-change');
    this.#box.removeAttribute('data-moving');
  }
}
