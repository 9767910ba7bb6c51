/** What the server answers where its description says no more than "an object". One place, held by the flows. */
import type { components } from './schema';

export type Schemas = components['schemas'];
export type Execution = Schemas['Execution'];
export type ExecutionItem = Schemas['ExecutionItem'];
export type EventCounts = Schemas['EventCounts'];
export type EventItem = Schemas['EventItem'];
export type Frames = Schemas['Frames'];
export type Diff = Schemas['Diff'];
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface Page<T> {
  items: T[];
  next: string | null;
}
export interface Me {
  name: string;
  kind: string;
  roles: string[];
  may: string[];
  namespace: string;
  grants: string[];
  csrf: string | null;
}
export interface Meta {
  version: string;
  base: string;
  limits: { body_bytes: number; page: number; wait_s: number };
  troubles: string[];
}
export interface Counts {
  by: string;
  total: number;
  counts: Record<string, number>;
  statuses?: Record<string, Record<string, number>>;
  /** Where it goes on: there are at least so many. */
  next?: string | null;
}
export interface GraphNode {
  id: string;
  kind: string;
  x: number;
  y: number;
  w: number;
  h: number;
  step?: string;
  label?: string;
  details?: string[];
  desc?: string;
  tools?: string[];
  loop?: boolean;
  join?: string | null;
  compensates?: boolean;
  line?: number;
  tokens?: number;
}
export interface GraphArc {
  from: string;
  to: string;
  points: [number, number][];
  backward: boolean;
  index?: number;
  label?: string;
  guard?: string | null;
  foreach?: boolean;
  dashed?: boolean;
  line?: number;
}
export interface Graph {
  lens: 'step' | 'net';
  width: number;
  height: number;
  nodes: GraphNode[];
  arcs: GraphArc[];
}
export interface IterationCounts {
  total: number;
  to_go: number;
  in_flight: number;
  ok: number;
  failed: number;
  cancelled: number;
}
export type RunState = 'running' | 'done' | 'failed' | 'withdrawn' | 'returned';
export interface RunRow {
  n: number;
  id: string;
  step: string;
  state: RunState;
  started: string;
  ended: string | null;
  ms: number | null;
  first: number;
  last: number | null;
  attempts: number;
  retries: number;
  deliveries: number;
  error: string | null;
  message: string | null;
  child: string | null;
  compensates: boolean;
  administrative: boolean;
  iterations: IterationCounts | null;
}
export interface Failure {
  kind: string;
  code: string | null;
  message: string;
  step?: string;
  details?: Json;
}
export interface AttemptTold {
  task: string;
  number: number;
  status: 'ok' | 'error';
  action: string;
  rule?: number | null;
  duration_ms?: number;
  error?: Failure | null;
  delay_s?: number | null;
  noop?: boolean;
}
export interface RunDetail extends Omit<RunRow, 'attempts'> {
  args: Json;
  branch: [string, number][];
  attempts: AttemptTold[];
  writes: { key: string; value?: Json }[];
  result: Json;
  failure: Failure | null;
  actor: string | null;
  worker: string | null;
  arcs?: number[];
}
export interface IterationRow {
  n: number;
  path: number[];
  state: 'to_go' | 'in_flight' | 'ok' | 'failed' | 'cancelled';
  ms: number | null;
  first: number | null;
  last: number | null;
  attempts: number;
  error: string | null;
  result: string | null;
}
export interface IterationMap {
  count: number;
  state: string;
  ms: string;
  first: string;
  last: string;
  rows?: number[];
}
export interface Operand {
  /** A part of a rule, as it is written. */
  text: string;
  value: Json;
  defined: boolean;
}
export interface WaitAct {
  act: 'complete' | 'signal' | 'retry' | 'patch' | 'resume' | 'override';
  method: string;
  path: string;
}
export interface WaitingTold {
  token: string;
  step: string;
  reason: string;
  sentence: string;
  rule: string;
  operands: Operand[];
  unblocked_by: string;
  child: string;
  queue?: Schemas['PlaceInLine'] | null;
  trying?: { failed: number; of: number | null; next_at: string | null } | null;
  acts?: WaitAct[];
}
export interface Explanation {
  status: string;
  reason: string;
  sentence: string;
  waiting: WaitingTold[];
  error: Json;
}
export interface Explained {
  explanation: Explanation;
}
export interface Moment {
  seq: number;
  records: number;
  at: string;
  status: string;
  reason: string;
  ctx: Record<string, Json>;
  tokens: Json;
  counts: Record<string, number>;
  waiting: WaitingTold[];
  output: Json;
  failures: Failure[];
  event: Json;
  receipt: Json;
  hash: string;
  previous: string;
}
export type TokenThen = Schemas['TokenThen'];

/** Part of a value that is too large to be sent as a whole. */
export interface ValueRange {
  kind: string;
  total: number;
  offset: number;
  next: number | null;
  content: Json;
}

export interface Write {
  seq: number;
  at: string;
  type: string;
  step: string | null;
  run: number | null;
  actor: string | null;
  value: Json;
}
export interface Lineage {
  execution: ExecutionItem;
  origin: { id: string; at: number; reason: string } | null;
  origins: string[];
  forks: ExecutionItem[];
  parents: string[];
  children: ExecutionItem[];
}
export interface Verified {
  execution: string;
  ok: boolean;
  records: number;
  bad: { seq: number; reason: string } | null;
}
export type Operation = Schemas['OperationItem'];
export interface Hit {
  kind: 'execution' | 'playbook' | 'work-item';
  id: string;
  title: string;
}
export interface View {
  name: string;
  query: string;
  page: string;
  shared: boolean;
  mine: boolean;
  version: number;
}
export interface Definition {
  path: string;
  name: string;
  version: string;
  digest: string;
  text: string;
}
export interface LogLine {
  at: number;
  step: string;
  task: string;
  text: string;
  stream?: string;
  path?: number[];
}
