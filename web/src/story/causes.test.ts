import { describe, expect, test } from 'vitest';
import type { Frames } from '../api/shapes';
import { Causes, criticalPath } from './causes';
import { StoryStore } from './store';

const TYPES = ['execution.started', 'step.started', 'step.done', 'attempt.ended'];
const [START, BEGIN, DONE, TRIED] = [0, 1, 2, 3];

/** a, then b and c beside each other, then j for both; c is slower, and j waits a second longer. */
const ROWS: [dt: number, type: number, step: number, run: number, delta: number[]][] = [
  [0, START!, -1, 0, [0, 1]],
  [10, BEGIN!, 0, 1, [0, -1, 1, 1]],
  [100, DONE!, 0, 1, [1, -1, 2, 1, 4, 1]],
  [0, BEGIN!, 1, 2, [2, -1, 3, 1]],
  [0, BEGIN!, 2, 3, [4, -1, 5, 1]],
  [200, DONE!, 1, 2, [3, -1, 6, 1]],
  [100, TRIED!, 2, 3, []],
  [400, DONE!, 2, 3, [5, -1, 7, 1]],
  [1000, BEGIN!, 3, 4, [6, -1, 7, -1, 8, 1]],
  [50, DONE!, 3, 4, [8, -1]],
];

function told(): StoryStore {
  const places = ['a', 'a', 'b', 'b', 'c', 'c', 'j', 'j', 'j'].map((step, n) => ({
    step,
    kind: [1, 3, 5, 8].includes(n) ? 'running' : 'ready',
    arc: n === 6 || n === 7 ? [n === 6 ? 'b' : 'c', 0] : null,
  }));
  const column = <T>(n: number) => ROWS.map((row) => row[n] as T);
  const frames = {
    first: 1,
    at0: 0,
    version: ROWS.length,
    places,
    types: TYPES,
    steps: ['a', 'b', 'c', 'j'],
  };
  const story = new StoryStore();
  story.append({
    ...frames,
    dt: column(0),
    type: column(1),
    step: column(2),
    run: column(3),
    flag: ROWS.map(() => 0),
    delta: column(4),
  } as unknown as Frames);
  return story;
}

describe('what led to what', () => {
  const story = told();
  const causes = new Causes(story).known()!;

  test('a run waited since the last of its tokens came, and knows from which run that came', () => {
    expect(causes.get(1)).toEqual({ since: 0, from: 0, tries: [] });
    expect(causes.get(2)).toEqual({ since: 110, from: 1, tries: [] });
    expect(causes.get(4)).toEqual({ since: 810, from: 3, tries: [] });
    expect(story.barOf(4)?.from).toBe(1810);
  });

  test('attempts before the last one have their moments', () => {
    expect(causes.get(3)?.tries).toEqual([410]);
  });

  test('the critical path goes by the slower branch', () => {
    expect([...criticalPath(story, causes, story.version)]).toEqual([4, 3, 1]);
  });

  test('earlier, it ends with what had ended last, or goes on', () => {
    expect([...criticalPath(story, causes, 6)]).toEqual([3, 1]);
    expect([...criticalPath(story, causes, 3)]).toEqual([1]);
  });
});
