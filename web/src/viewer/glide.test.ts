// @vitest-environment jsdom
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Glide, REST_MS } from './glide';

/** What jsdom has not: an animation that keeps what it is told. */
class FakeRun {
  frames: Keyframe[];
  isPaused = false;
  isCancelled = false;
  effect = {
    setKeyframes: (frames: Keyframe[]) => {
      this.frames = frames;
    },
  };
  constructor(frames: Keyframe[]) {
    this.frames = frames;
  }
  pause() {
    this.isPaused = true;
  }
  cancel() {
    this.isCancelled = true;
  }
}

let runs: FakeRun[] = [];
let box: HTMLElement;
let drawing: HTMLElement;

beforeEach(() => {
  vi.useFakeTimers();
  runs = [];
  box = document.createElement('div');
  drawing = document.createElement('div');
  drawing.className = 'react-flow__viewport';
  box.append(drawing);
  drawing.animate = (frames) => {
    runs.push(new FakeRun(frames as Keyframe[]));
    return runs.at(-1) as unknown as Animation;
  };
});
afterEach(() => {
  vi.useRealTimers();
});

test('while it moves it is one layer that stands where it was moved to', () => {
  const glide = new Glide(box);
  glide.move({ x: 1, y: 2, zoom: 1 });
  glide.move({ x: 3, y: 4, zoom: 1 });
  expect(runs).toHaveLength(1);
  expect(runs[0]).toMatchObject({ isPaused: true, isCancelled: false });
  expect(new Set(runs[0]!.frames.map((one) => one.transform))).toEqual(
    new Set(['translate(3px, 4px) scale(1)']),
  );
  expect(box.hasAttribute('data-moving')).toBe(true);
  expect(drawing.style.willChange).toBe('');
});

test('it is not drawn anew while it is scaled', () => {
  const glide = new Glide(box);
  glide.move({ x: 0, y: 0, zoom: 1 });
  glide.move({ x: 0, y: 0, zoom: 1.1 });
  expect(drawing.style.willChange).toBe('transform');
});

test('once nobody moves it any more it is as if it had never moved', () => {
  const glide = new Glide(box);
  glide.move({ x: 0, y: 0, zoom: 1 });
  vi.advanceTimersByTime(REST_MS - 1);
  glide.move({ x: 9, y: 0, zoom: 2 });
  vi.advanceTimersByTime(REST_MS - 1);
  expect(runs[0]!.isCancelled).toBe(false);
  vi.advanceTimersByTime(1);
  expect(runs[0]!.isCancelled).toBe(true);
  expect(drawing.style.willChange).toBe('');
  expect(box.hasAttribute('data-moving')).toBe(false);
});

test('a jump is no movement, but one in the middle of a movement is gone along with', () => {
  const glide = new Glide(box);
  glide.follow({ x: 5, y: 5, zoom: 1 });
  expect(runs).toHaveLength(0);
  glide.move({ x: 0, y: 0, zoom: 1 });
  glide.follow({ x: 7, y: 7, zoom: 1 });
  expect(runs[0]!.frames[0]!.transform).toBe('translate(7px, 7px) scale(1)');
});

test('a browser that cannot animate moves it as it always did', () => {
  drawing.animate = undefined as unknown as HTMLElement['animate'];
  const glide = new Glide(box);
  glide.move({ x: 0, y: 0, zoom: 1 });
  glide.move({ x: 1, y: 0, zoom: 2 });
  expect(box.hasAttribute('data-moving')).toBe(false);
  expect(drawing.style.willChange).toBe('');
});
