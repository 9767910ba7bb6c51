/** Stories for tests: parts of one, made-up ones, and the bins that a server makes of one. */
import type { Frames } from './frames';
import { Names } from './names';
import { Stretch } from './stretch';

/** A part of frames, as the server sends it behind a record. */
export function part(frames: Frames, from: number, to: number): Frames {
  let at = frames.at0;
  for (let n = 1; n <= from; n++) at += frames.dt[n] ?? 0;
  const dt = frames.dt.slice(from, to);
  if (dt.length) dt[0] = 0;
  return {
    ...frames,
    first: from + 1,
    at0: at,
    dt,
    type: frames.type.slice(from, to),
    step: frames.step.slice(from, to),
    run: frames.run.slice(from, to),
    flag: frames.flag.slice(from, to),
    delta: frames.delta.slice(from, to),
  };
}

/** Numbers that are the same every time. */
function dice(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state % below;
  };
}

/** Records that say anything: what they moved is all that holds of them. */
export function randomFrames(seed: number, length: number): Frames {
  const roll = dice(seed);
  const places = Array.from({ length: 6 }, (_, n) => ({
    step: `s${n >> 1}`,
    kind: n % 2 ? 'running' : 'ready',
    arc: n % 2 ? null : ['s0', n],
  }));
  return {
    first: 1,
    at0: 1000,
    version: length,
    places,
    types: ['step.started', 'step.done', 'step.failed', 'other'],
    steps: ['s0', 's1', 's2'],
    dt: Array.from({ length }, (_, n) => (n ? roll(1000) : 0)),
    type: Array.from({ length }, () => roll(4)),
    step: Array.from({ length }, () => roll(4) - 1),
    run: Array.from({ length }, () => roll(20)),
    flag: Array.from({ length }, () => (roll(5) ? 0 : 1 << roll(6))),
    delta: Array.from({ length }, () => Array.from({ length: roll(3) }, () => [roll(6), roll(5) - 2]).flat()),
  } as unknown as Frames;
}

/** Records of runs that begin, end and are withdrawn, several of a step at a time. */
export function livedFrames(seed: number, length: number): Frames {
  const roll = dice(seed);
  const open: number[][] = [[], [], []];
  const [type, step, run, delta]: [number[], number[], number[], number[][]] = [[], [], [], []];
  let runs = 0;
  for (let n = 0; n < length; n++) {
    const [here, what] = [roll(3), roll(8)];
    const [ready, running] = [2 * here, 2 * here + 1];
    const under = open[here]!;
    if (what < 3 && under.length < 5) {
      under.push(++runs);
      [type[n], step[n], run[n], delta[n]] = [0, here, runs, [ready, -1, running, 1]];
    } else if (what < 6 && under.length) {
      const [ended] = under.splice(roll(under.length), 1);
      [type[n], step[n], run[n], delta[n]] = [1 + roll(2), here, ended!, [running, -1, ready, 1]];
    } else if (what === 6 && under.length) {
      under.shift();
      [type[n], step[n], run[n], delta[n]] = [3, -1, 0, [running, -1]];
    } else [type[n], step[n], run[n], delta[n]] = [3, here, 0, []];
  }
  const made = randomFrames(seed, length);
  return { ...made, type, step, run, delta };
}

/** The bins of a story, as the server makes them. */
export function binned(frames: Frames, most: number): Frames {
  const names = new Names();
  names.learn(frames);
  const all = new Stretch(names);
  all.append(frames);
  const size = 2 ** Math.ceil(Math.log2(all.last / most));
  const ends = Array.from({ length: Math.ceil(all.last / size) }, (_, n) =>
    Math.min(all.last, (n + 1) * size),
  );
  const start = all.timeOf(1);
  const pairs = (sums: Int32Array, before: Int32Array) =>
    [...sums].flatMap((sum, place) => (sum - before[place]! ? [place, sum - before[place]!] : []));
  const bins = ends.map((end, n) => {
    const [base, was] = [all.baseAt(end), all.baseAt(ends[n - 1] ?? 0)];
    const worst = all.marked.filter((seq) => seq > was.seq && seq <= end).at(-1) ?? end;
    return { end, base, was, worst };
  });
  return {
    ...frames,
    dt: bins.map(({ end }, n) => all.timeOf(end) - all.timeOf(ends[n - 1] ?? 1)),
    seq: ends,
    delta: bins.map(({ base, was }) => pairs(base.marking, was.marking)),
    came: bins.map(({ base, was }) => pairs(base.taken, was.taken)),
    marked: bins.map(({ worst }) => worst),
    marked_ms: bins.map(({ worst }) => all.timeOf(worst) - start),
    gap: bins.map(({ end }) => [all.timeOf(end) - start, all.timeOf(end) - start]),
    type: bins.map(({ worst }) => all.type[worst - 1]!),
    step: bins.map(({ worst }) => all.step[worst - 1]!),
    run: bins.map(({ worst }) => all.run[worst - 1]!),
    flag: bins.map(({ worst }) => all.flagOf(worst)),
    became: bins.map(({ base }) =>
      [...base.steps].map(([step, { counts, bar }]) => [
        names.steps.indexOf(step),
        counts.started,
        counts.done,
        counts.failed,
        counts.retries,
        counts.parts,
        counts.decided,
        counts.last,
        counts.lastFailed,
        bar?.run ?? 0,
        bar?.first ?? 0,
        bar?.last ?? 0,
        bar?.state ?? 'running',
        bar ? bar.from - start : 0,
        bar?.last ? bar.to - start : 0,
      ]),
    ),
  };
}
