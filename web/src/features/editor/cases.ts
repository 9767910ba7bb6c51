/** Test files as the editor writes them: a first one, and cases made of walks. Values are written as JSON, which is YAML. */
import type { CaseDone, Coverage, Made, NextChoice, WalkThrough } from '../../api/authoring';
import type { Graph, GraphArc, Json } from '../../api/shapes';

/** One choice of a walk: what was asked, and what was chosen. */
export interface Chosen {
  asked: NextChoice;
  made: Made;
}

/** The file that a test file calls its playbook by; null where the playbook stands inside it. */
export function fileNamed(test: string): string | null {
  const found = /^playbook:[ \t]*(["']?)([A-Za-z0-9][\w.-]*)\1[ \t]*(?:#.*)?$/m.exec(test);
  return found?.[2] ?? null;
}

function fileOf(path: string): string {
  return `${path.split('/').at(-1) ?? 'playbook'}.yaml`;
}

const SCRIPTLESS = new Set(['noop', 'wait', 'human', 'playbook', 'router']);

/** The steps whose tools a test has to speak for. */
function scripted(graph: Graph): string[] {
  return graph.nodes
    .filter((node) => node.kind !== 'dot' && (node.tools ?? []).some((kind) => !SCRIPTLESS.has(kind)))
    .map((node) => node.step ?? node.id);
}

const word = (name: string) => JSON.stringify(name);

/** The head of a test file for a playbook. */
export function testFile(path: string): string {
  return `apiVersion: petra/v1\nkind: Test\nplaybook: ${fileOf(path)}\ncases:\n`;
}

/** A first case, in which everything goes well. */
export function firstCase(graph: Graph | null): string {
  const steps = graph ? scripted(graph) : [];
  return caseText('all goes well', { tools: steps.map((step) => [step, '{ok: null}']), status: 'completed' });
}

interface CaseParts {
  workload?: Record<string, Json>;
  tools: readonly (readonly [name: string, script: string])[];
  world?: readonly string[];
  status: string;
  note?: string;
}

function caseText(name: string, parts: CaseParts): string {
  const said = [`  - name: ${word(name)}`];
  if (parts.note) said.push(`    desc: ${word(parts.note)}`);
  if (parts.workload && Object.keys(parts.workload).length) {
    said.push(`    workload: ${JSON.stringify(parts.workload)}`);
  }
  if (parts.tools.length) said.push('    tools:');
  for (const [step, script] of parts.tools) said.push(`      ${word(step)}: ${script}`);
  if (parts.world?.length) said.push('    world:');
  for (const line of parts.world ?? []) said.push(`      - ${line}`);
  said.push('    expect:', `      status: ${parts.status}`);
  return `${said.join('\n')}\n`;
}

function scriptOf(made: Made): string {
  if (made.error !== undefined) return `{error: {kind: ${word(made.error || 'unknown')}}}`;
  return `{ok: ${JSON.stringify(made.ok ?? null)}}`;
}

function worldOf({ asked, made }: Chosen): string | null {
  if (asked.kind === 'work-item') {
    const data = made.data === undefined ? '' : `, data: ${JSON.stringify(made.data)}`;
    return `{when_open: ${word(asked.step)}, complete: {action: ${word(made.action ?? '')}${data}}}`;
  }
  if (made.wait) return null;
  return `{at_s: 0, signal: {name: ${word(asked.what)}, payload: ${JSON.stringify(made.payload ?? null)}}}`;
}

/** A walk as a case: the tools say what was chosen for them, the world does what people and signals did. */
export function caseOfWalk(
  name: string,
  workload: Record<string, Json>,
  chosen: readonly Chosen[],
  walk: Pick<WalkThrough, 'status'>,
): string {
  const tools = new Map<string, string[]>();
  const world: string[] = [];
  for (const one of chosen) {
    if (one.asked.kind === 'outcome') {
      const key = one.asked.task ? `${one.asked.step}/${one.asked.task}` : one.asked.step;
      tools.set(key, [...(tools.get(key) ?? []), scriptOf(one.made)]);
    } else {
      const line = worldOf(one);
      if (line) world.push(line);
    }
  }
  const scripts = [...tools].map(
    ([step, list]) => [step, list.length === 1 ? (list[0] ?? '') : `[${list.join(', ')}]`] as const,
  );
  return caseText(name, { workload, tools: scripts, world, status: walk.status || 'completed' });
}

/** A way to get stuck as a case that fails until the playbook is mended. */
export function caseOfWay(way: readonly string[], graph: Graph | null): string {
  const steps = graph ? scripted(graph) : [];
  return caseText('does not get stuck', {
    note: `found by the proof: ${way.join(', ')}; give it the workload and the results that lead there`,
    tools: steps.map((step) => [step, '{ok: null}']),
    status: 'completed',
  });
}

/** A test file with one more case; where there is none yet, a new one. */
export function withCase(test: string, path: string, added: string): string {
  const before = test.trim() ? test.replace(/\n*$/, '\n') : testFile(path);
  return before + added;
}

// Coverage

/** The cases that took an arc, by its step and number. */
export function takenBy(cases: readonly CaseDone[], arc: string): CaseDone[] {
  return cases.filter((one) => one.arcs.some(({ from, index }) => `${from}/${index}` === arc));
}

/** By how many cases an arc was taken; null where nothing is known of it. */
export function timesTaken(coverage: Coverage | null | undefined, arc: GraphArc): number | null {
  const found = coverage?.arcs.find((one) => one.from === arc.from && one.index === (arc.index ?? 0));
  return found ? found.count : null;
}

export function percentage(coverage: Coverage): number {
  return coverage.total ? Math.floor((coverage.taken / coverage.total) * 100) : 100;
}
