/** Stories of a size that an engine needs minutes for: made here, and given to the page in place of the server's. */
import type { Page } from '@playwright/test';

const PART = 50_000;

/** A playbook of so many steps, in chains beside each other of which one is taken. */
export function wide(chains: number, length: number): string {
  const steps = ['  - step: begin', '    tool: {kind: noop}', '    next:', '      arcs:'];
  for (let c = 0; c < chains; c++)
    steps.push(
      `        - {step: s${c}_0${c ? `, when: "{{ workload.k == ${c} }}"` : ', when: "{{ workload.k == 0 }}"'}}`,
    );
  steps.push('        - {step: s0_0}');
  for (let c = 0; c < chains; c++) {
    for (let n = 0; n < length; n++) {
      steps.push(`  - step: s${c}_${n}`, '    tool: {kind: noop}');
      if (n + 1 < length) steps.push(`    next: {arcs: [{step: s${c}_${n + 1}}]}`);
    }
  }
  const head = ['apiVersion: petra/v1', 'kind: Playbook', `metadata: {name: wide_${chains}_${length}}`];
  return [...head, 'workload: {k: 0}', 'workflow:', ...steps, ''].join('\n');
}

/** The columns of a story of two steps that take turns. */
export function columns(first: number, last: number, version: number) {
  const seqs = Array.from({ length: Math.max(0, last - first + 1) }, (_, n) => first + n);
  return {
    first,
    at0: 1_790_000_000_000 + first * 10,
    version,
    places: [
      { step: 'count', kind: 'ready', arc: null },
      { step: 'count', kind: 'running', arc: null },
      { step: 'wait', kind: 'ready', arc: ['count', 0] },
    ],
    types: ['step.started', 'step.done', 'step.failed'],
    steps: ['count', 'wait'],
    dt: seqs.map(() => 10),
    type: seqs.map((seq) => (seq % 2 ? 0 : seq % 400 === 0 ? 2 : 1)),
    step: seqs.map(() => 0),
    run: seqs.map((seq) => Math.ceil(seq / 2)),
    flag: seqs.map((seq) => (seq % 400 === 0 ? 1 : 0)),
    delta: seqs.map((seq) => (seq % 2 ? [1, 1] : [1, -1, 2, 1])),
    seq: null,
  };
}

/** The same in bins, as a server makes them: so many records that the last run has ended. */
export function bins(version: number, most: number) {
  const size = 2 ** Math.ceil(Math.log2(version / most));
  const ends = Array.from({ length: Math.ceil(version / size) }, (_, n) => Math.min(version, (n + 1) * size));
  const count = (n: number) => ends[n]! - (ends[n - 1] ?? 0);
  const failed = (seq: number) => Math.floor(seq / 400);
  const worst = (end: number, n: number) => {
    const last = failed(end) * 400;
    return last > (ends[n - 1] ?? 0) ? last : end;
  };
  const named = ends.map(worst);
  const row = (end: number) => {
    const fails = end % 400 === 0;
    return [
      ...[0, end / 2, end / 2 - failed(end), failed(end), 0, 0, 0, end, fails],
      ...[end / 2, end - 1, end, fails ? 'failed' : 'done', (end - 2) * 10, (end - 1) * 10],
    ];
  };
  return {
    ...columns(1, 0, version),
    dt: ends.map((_, n) => count(n) * 10 - (n ? 0 : 10)),
    type: named.map((seq) => (seq % 400 === 0 ? 2 : 1)),
    step: named.map(() => 0),
    run: named.map((seq) => seq / 2),
    flag: named.map((seq) => (seq % 400 === 0 ? 1 : 0)),
    delta: ends.map((_, n) => [2, count(n) / 2]),
    came: ends.map((_, n) => [1, count(n) / 2, 2, count(n) / 2]),
    marked: named,
    marked_ms: named.map((seq) => (seq - 1) * 10),
    gap: ends.map((end) => [(end - 2) * 10, (end - 1) * 10]),
    became: ends.map((end) => [row(end)]),
    seq: ends,
  };
}

function item(seq: number) {
  const type = seq % 2 ? 'step.started' : 'step.done';
  return { seq, at: '2026-09-21T00:00:00Z', type, step: 'count', run: 1, text: `${type} count, turn ${seq}` };
}

/** Let a page see so many records, whatever the execution has; and as many more as it was told of since. */
export async function pretend(page: Page, first: number): Promise<void> {
  const told = () => page.evaluate(() => (window as unknown as { told?: number }).told ?? 0);
  await page.route(/\/frames\?/, async (route) => {
    const version = Math.max(first, await told().catch(() => 0)) & ~1;
    const asked = new URL(route.request().url()).searchParams;
    if (asked.has('bins')) return route.fulfill({ json: bins(version, Number(asked.get('bins'))) });
    const after = Number(asked.get('after') ?? 0);
    const until = Math.min(version, Number(asked.get('until') ?? version), after + PART);
    return route.fulfill({ json: columns(after + 1, until, version) });
  });
  await page.route(/\/events\/counts\?/, (route) => {
    const asked = new URL(route.request().url()).searchParams;
    const [size, until] = [Number(asked.get('size')), Number(asked.get('until'))];
    const after = Number(asked.get('after') ?? 0);
    const starts = Array.from({ length: Math.ceil((until - after) / size) }, (_, n) => after + n * size);
    const wanted = (count: number) => (asked.get('level') === 'all' ? count : count / 2);
    const counts = starts.map((start) => wanted(Math.min(size, until - start)));
    return route.fulfill({ json: { after, size, version: first, counts } });
  });
  await page.route(/\/events\?/, (route) => {
    const asked = new URL(route.request().url()).searchParams;
    const after = Number(asked.get('after') ?? 0);
    const before = Number(asked.get('before') ?? first + 1);
    const count = Math.max(0, Math.min(before - after - 1, Number(asked.get('limit') ?? 100)));
    return route.fulfill({
      json: { items: Array.from({ length: count }, (_, n) => item(after + 1 + n)), next: null },
    });
  });
  await page.route(/\/stream\?/, (route) => route.abort());
}

/** Let a page hear of so many records in a second, for so long, in messages as a server sends them; `pour` begins it. */
export async function pouring(page: Page, first: number, rate: number, seconds: number): Promise<void> {
  await page.addInitScript(
    `(${columns.toString().replace('function columns', 'window.columns = function')})`,
  );
  await page.addInitScript(
    ([begin, rate, seconds]) => {
      const { columns } = window as unknown as { columns: typeof import('./made').columns };
      const Real = window.EventSource;
      class Poured extends EventTarget {
        onerror = null;
        constructor() {
          super();
          const kept = window as unknown as { pour: () => void; told: number };
          kept.told = begin;
          setTimeout(() => this.#tell('hello', { server: '' }, begin));
          kept.pour = () => this.#pour(kept);
        }
        #tell(type: string, data: object, last: number) {
          this.dispatchEvent(
            new MessageEvent(type, { data: JSON.stringify(data), lastEventId: String(last) }),
          );
        }
        #pour(kept: { told: number }) {
          const start = performance.now();
          const timer = setInterval(() => {
            const gone = Math.min(seconds, (performance.now() - start) / 1000);
            const last = begin + Math.floor(gone * rate);
            if (last > kept.told) {
              this.#tell('frames', columns(kept.told + 1, last, last), last);
              this.#tell('head', { version: last, status: 'running', reason: '' }, last);
            }
            kept.told = last;
            if (gone >= seconds) clearInterval(timer);
          }, MESSAGE_MS);
        }
        close() {}
      }
      const MESSAGE_MS = 20;
      window.EventSource = new Proxy(Real, {
        construct: (_, [url]) =>
          /\/executions\/.*\/stream/.test(String(url))
            ? (new Poured() as unknown as EventSource)
            : new Real(String(url)),
      });
    },
    [first, rate, seconds] as const,
  );
}
