import { describe, expect, it } from 'vitest';
import type { CaseDone, NextChoice } from '../../api/authoring';
import type { Graph, GraphArc, GraphNode } from '../../api/shapes';
import {
  type Chosen,
  caseOfWalk,
  caseOfWay,
  fileNamed,
  firstCase,
  percentage,
  takenBy,
  timesTaken,
  withCase,
} from './cases';
import { fieldOf, madeOf, startOf, told } from './choices';

const node = (id: string, kind: string, tools?: string[]): GraphNode => ({
  id,
  kind,
  tools,
  x: 0,
  y: 0,
  w: 1,
  h: 1,
});
const GRAPH: Graph = {
  lens: 'step',
  width: 1,
  height: 1,
  nodes: [node('get', 'task', ['http']), node('rest', 'task', ['noop']), node('▸', 'dot')],
  arcs: [],
};
const asked = (change: Partial<NextChoice>): NextChoice => ({
  kind: 'outcome',
  step: 'get',
  task: 'get_it',
  what: 'get/get_it (http)',
  options: ['ok', 'error'],
  form: null,
  proposal: null,
  ...change,
});

describe('a test file', () => {
  it.each([
    ['playbook: a.yaml\ncases: []', 'a.yaml'],
    ['kind: Test\nplaybook: "a b.yaml"', null],
    ["playbook: 'a.yaml'  # mine", 'a.yaml'],
    ['playbook:\n  kind: Playbook', null],
    ['playbook: ../a.yaml', null],
    ['cases:\n  - playbook: a.yaml', null],
  ])('%j names %s', (text, name) => {
    expect(fileNamed(text)).toBe(name);
  });
  it('begins with a case that speaks for every tool that needs it', () => {
    const made = withCase('', 'examples/orders', firstCase(GRAPH));
    expect(fileNamed(made)).toBe('orders.yaml');
    expect(made).toContain('"get": {ok: null}');
    expect(made).not.toContain('"rest"');
  });
  it('gets one case after the other', () => {
    const one = withCase('', 'a', firstCase(GRAPH));
    const two = withCase(`${one}\n\n`, 'a', caseOfWay(['get.start', 'get.done'], GRAPH));
    expect(two.match(/^ {2}- name:/gm)).toHaveLength(2);
    expect(two).toContain('found by the proof: get.start, get.done');
    expect(two).not.toContain('\n\n');
  });
});

describe('a walk as a case', () => {
  const walked: Chosen[] = [
    { asked: asked({}), made: madeOf(asked({}), 'error', 'timeout') },
    { asked: asked({}), made: madeOf(asked({}), 'ok', '{"a": "it\'s: [x]"}') },
    {
      asked: asked({ kind: 'work-item', step: 'sign', options: ['yes'], proposal: { n: 1 } }),
      made: madeOf(asked({ kind: 'work-item' }), 'yes', '{"n": 2}'),
    },
    { asked: asked({ kind: 'signal', step: 'wait', what: 'paid' }), made: { payload: 3 } },
    { asked: asked({ kind: 'signal', step: 'wait', what: 'late' }), made: { wait: true } },
  ];
  it('says what tools answered, what people did and which signals came', () => {
    expect(caseOfWalk('so', { x: 1 }, walked, { status: 'completed' })).toBe(`  - name: "so"
    workload: {"x":1}
    tools:
      "get/get_it": [{error: {kind: "timeout"}}, {ok: {"a":"it's: [x]"}}]
    world:
      - {when_open: "sign", complete: {action: "yes", data: {"n":2}}}
      - {at_s: 0, signal: {name: "paid", payload: 3}}
    expect:
      status: completed
`);
  });
  it('is told choice by choice', () => {
    expect(walked.map((one) => told(one.asked, one.made))).toEqual([
      'get: error timeout',
      'get: ok {"a":"it\'s: [x]"}',
      'sign: yes',
      "wait: 'paid' comes",
      "wait: 'late' does not come",
    ]);
  });
});

describe('a choice', () => {
  it('that has to be JSON and is none is no choice', () => {
    expect(() => madeOf(asked({}), 'ok', '{')).toThrow();
    expect(madeOf(asked({}), 'error', '{')).toEqual({ error: '{' });
    expect(madeOf(asked({}), 'ok', '  ')).toEqual({ ok: null });
    expect(madeOf(asked({ kind: 'signal' }), 'wait', '{')).toEqual({ wait: true });
    expect(madeOf(asked({ kind: 'work-item' }), 'no', '')).toEqual({ action: 'no' });
  });
  it('about a work item begins with what was proposed', () => {
    expect(startOf(asked({ kind: 'work-item', proposal: { a: 1 } }))).toBe('{"a":1}');
    expect(startOf(asked({}))).toBe('');
    expect(new Set(['outcome', 'signal', 'work-item'].map((kind) => fieldOf(asked({ kind })))).size).toBe(3);
  });
});

describe('coverage', () => {
  const arc = (from: string, index?: number): GraphArc => ({
    from,
    to: 'x',
    points: [],
    backward: false,
    index,
  });
  const coverage = {
    total: 3,
    taken: 2,
    arcs: [
      { from: 'a', index: 0, to: 'x', count: 2, line: 1 },
      { from: 'a', index: 1, to: 'x', count: 0, line: 2 },
    ],
  };
  it('is counted per arc; of what is no arc of the playbook nothing is known', () => {
    expect([arc('a'), arc('a', 1), arc('▸')].map((one) => timesTaken(coverage, one))).toEqual([2, 0, null]);
    expect(timesTaken(null, arc('a'))).toBeNull();
  });
  it('is whole only when it is', () => {
    expect(percentage(coverage)).toBe(66);
    expect(percentage({ arcs: [], taken: 999, total: 1000 })).toBe(99);
    expect(percentage({ arcs: [], taken: 0, total: 0 })).toBe(100);
  });
});

it('an arc is taken by the cases that say so', () => {
  const done = (name: string, ...arcs: [string, number][]) =>
    ({ name, arcs: arcs.map(([from, index]) => ({ from, index })) }) as CaseDone;
  const cases = [done('one', ['a', 0]), done('two', ['a', 1], ['b', 0])];
  expect(takenBy(cases, 'a/0').map((one) => one.name)).toEqual(['one']);
  expect(takenBy(cases, 'b/0').map((one) => one.name)).toEqual(['two']);
  expect(takenBy(cases, 'b/1')).toEqual([]);
});
