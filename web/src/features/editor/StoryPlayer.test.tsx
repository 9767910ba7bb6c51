// @vitest-environment jsdom
import { cleanup, fireEvent, screen } from '@testing-library/react';
import { useState } from 'react';
import { afterEach, beforeAll, expect, test } from 'vitest';
import type { Frames, Graph } from '../../api/shapes';
import { makeBrowserParts, show } from '../../kit/testing';
import { beadsAt, factAt, StoryPlayer, storyOf } from './StoryPlayer';

beforeAll(makeBrowserParts);
afterEach(cleanup);

/** a runs and hands a token to j, which waits for another. */
const FRAMES: Frames = {
  first: 1,
  seq: null,
  came: null,
  marked: null,
  marked_ms: null,
  gap: null,
  became: null,
  at0: 0,
  version: 3,
  places: [
    { step: 'a', kind: 'ready', arc: null },
    { step: 'a', kind: 'running', arc: null },
    { step: 'j', kind: 'ready', arc: ['a', 0] },
  ] as Frames['places'],
  types: ['execution.started', 'step.started', 'step.done'],
  steps: ['a', 'j'],
  dt: [0, 10, 10],
  type: [0, 1, 2],
  step: [-1, 0, 0],
  run: [0, 1, 1],
  flag: [0, 0, 0],
  delta: [
    [0, 1],
    [0, -1, 1, 1],
    [1, -1, 2, 1],
  ],
};
const GRAPH: Graph = {
  lens: 'step',
  width: 10,
  height: 10,
  nodes: ['a', 'j'].map((id) => ({ id, kind: 'task', x: 0, y: 0, w: 200, h: 50 })),
  arcs: [
    {
      from: 'a',
      to: 'j',
      index: 0,
      points: [
        [0, 0],
        [1, 1],
      ],
      backward: false,
    },
  ],
};

test('every record says what each step does', () => {
  const story = storyOf(FRAMES);
  expect([0, 1, 2, 3].map((seq) => factAt(story, seq, 'a', false)?.text)).toEqual([
    undefined,
    '1 waiting',
    '1 running',
    'done',
  ]);
  expect(factAt(story, 3, 'j', true)).toEqual({ text: '1 waiting', token: 'stuck' });
  expect([...beadsAt(story, 3)]).toEqual([['a 0', 1]]);
  expect([...beadsAt(story, 2)]).toEqual([]);
});

function Played() {
  const [at, setAt] = useState<number | undefined>(undefined);
  return (
    <StoryPlayer
      graph={GRAPH}
      frames={FRAMES}
      label="A walk"
      at={at}
      onAt={setAt}
      selected={null}
      onSelect={() => {}}
    />
  );
}

test('it is shown at its end, and stepped and dragged from there', () => {
  show(<Played />);
  const said = () => screen.getByRole('status').textContent;
  expect(said()).toBe('3 of 3 · step.done a');
  fireEvent.click(screen.getByRole('button', { name: 'Back' }));
  expect(said()).toBe('2 of 3 · step.started a');
  fireEvent.change(screen.getByRole('slider', { name: 'Record' }), { target: { value: '0' } });
  expect(said()).toBe('0 of 3 · before it begins');
  expect(screen.getByRole('slider').getAttribute('aria-valuetext')).toContain('record 0 of 3');
  fireEvent.click(screen.getByRole('button', { name: 'Last' }));
  expect(said()).toContain('3 of 3');
});
