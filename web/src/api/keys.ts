/** The names under which answers are kept. Streams change what is kept under them; there is no second copy. */
import type { ListQuery } from './lists';

export const keys = {
  me: ['me'] as const,
  meta: ['meta'] as const,
  views: ['views'] as const,
  executions: ['executions'] as const,
  list: (query: ListQuery) => ['executions', 'list', query] as const,
  counts: (query: ListQuery) => ['executions', 'counts', query] as const,
  hours: (query: ListQuery) => ['executions', 'hours', query] as const,
  execution: (id: string) => ['execution', id, 'head'] as const,
  of: (id: string) => ['execution', id] as const,
  graph: (digest: string, lens: string) => ['definition', digest, 'graph', lens] as const,
  definition: (digest: string) => ['definition', digest] as const,
  at: (id: string, seq: number) => ['execution', id, 'at', seq] as const,
  explain: (id: string, version: number) => ['execution', id, 'explain', version] as const,
  events: (id: string, filter: unknown) => ['execution', id, 'events', filter] as const,
  record: (id: string, seq: number) => ['execution', id, 'record', seq] as const,
  runs: (id: string, step: string | null, version: number) =>
    ['execution', id, 'runs', step, version] as const,
  run: (id: string, n: number, version: number) => ['execution', id, 'run', n, version] as const,
  map: (id: string, n: number, version: number) => ['execution', id, 'map', n, version] as const,
  iterations: (id: string, n: number, filter: unknown) => ['execution', id, 'iterations', n, filter] as const,
  history: (id: string, key: string, version: number) => ['execution', id, 'history', key, version] as const,
  lineage: (id: string) => ['execution', id, 'lineage'] as const,
  logs: (id: string, version: number) => ['execution', id, 'logs', version] as const,
  diff: (id: string, other: string) => ['execution', id, 'diff', other] as const,
  playbooks: ['playbooks'] as const,
  workItemCounts: ['work-items', 'counts'] as const,
  workItems: (box: string) => ['work-items', 'list', box] as const,
  workItem: (execution: string, id: string) => ['work-items', 'one', execution, id] as const,
};
