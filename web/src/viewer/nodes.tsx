import { Link } from '@tanstack/react-router';
import { Handle, type NodeProps, Position } from '@xyflow/react';
import {
  Braces,
  Code,
  CornerDownRight,
  Database,
  GitBranch,
  Globe,
  Hand,
  Hourglass,
  type LucideIcon,
  Radio,
  RefreshCw,
  Repeat,
  SquareDot,
  Terminal,
  UserRound,
} from 'lucide-react';
import { memo } from 'react';
import type { GraphNode } from '../api/shapes';
import { duration, Name, number, State, shortId } from '../kit';
import { lookOf } from '../kit/states';
import type { StepFacts } from '../story/store';
import css from './graph.module.css';
import type { StepLook } from './looks';
import type { Child } from './picture';
import { Loop, type Looping } from './Ring';

export interface StepNodeData {
  node: GraphNode;
  facts: StepFacts;
  look: StepLook;
  /** Others are looked for. */
  isFaint: boolean;
  selected: boolean;
  sentence: string | undefined;
  /** Where a token waits at a join of arcs: along how many of them one has come. */
  joined?: { arrived: number; of: number };
  /** How long its last run took. */
  ms: number | null;
  /** Show the execution that it started, inside this graph, or no more. */
  openChild?: (step: string) => void;
  isOpen?: boolean;
  /** Which try comes next, of how many; of a step that is tried again. */
  trying?: string;
  /** The loop that it is, once it runs. */
  looping?: Looping;
  /** It belongs to an execution that is shown inside this one. */
  isWithin?: boolean;
}

const KINDS: Record<string, LucideIcon> = {
  http: Globe,
  python: Code,
  shell: Terminal,
  human: UserRound,
  signal: Radio,
  wait: Hourglass,
  playbook: CornerDownRight,
  postgres: Database,
  duckdb: Database,
  sqlite: Database,
};

function iconOf(node: GraphNode): LucideIcon {
  if (node.loop) return Repeat;
  const kind = node.tools?.find((tool) => tool !== 'noop');
  return (kind && KINDS[kind]) || (node.tools?.length ? Braces : GitBranch);
}

export function factOf({ node, facts, ms, joined }: StepNodeData): string {
  const parts = [node.tools?.join(' · ') || node.kind];
  if (node.join) parts.push(joined ? `join ${joined.arrived} of ${joined.of}` : `join ${node.join}`);
  if (ms !== null) parts.push(duration(ms));
  if (facts.done > 1) parts.push(`${number(facts.done)} done`);
  if (facts.failed) parts.push(`${number(facts.failed)} failed`);
  return parts.join(' · ');
}

function Fact({ text }: { text: string }) {
  return (
    <div className={`${css.fact} cut muted`} title={text}>
      {text}
    </div>
  );
}

function same(a: NodeProps, b: NodeProps): boolean {
  const [one, two] = [a.data as unknown as StepNodeData, b.data as unknown as StepNodeData];
  return (
    one.node === two.node &&
    one.selected === two.selected &&
    one.isFaint === two.isFaint &&
    one.sentence === two.sentence &&
    one.isOpen === two.isOpen &&
    one.ms === two.ms &&
    one.trying === two.trying &&
    one.joined?.arrived === two.joined?.arrived &&
    JSON.stringify(one.looping) === JSON.stringify(two.looping) &&
    one.openChild === two.openChild &&
    one.look.status === two.look.status &&
    one.look.reason === two.look.reason &&
    JSON.stringify(one.facts) === JSON.stringify(two.facts)
  );
}

/** A step: what it is, how far it is, how many are in it. */
export const StepNode = memo(function StepNode(props: NodeProps) {
  const data = props.data as unknown as StepNodeData;
  const { node, facts, look } = data;
  const Icon = iconOf(node);
  const token = lookOf(look.status, look.reason).token;
  const fact = <Fact text={factOf(data)} />;
  const named = node.label ?? node.id;
  return (
    <div
      className={data.isWithin ? `${css.step} ${css.within}` : css.step}
      data-state={token}
      data-selected={data.selected || undefined}
      data-faint={data.isFaint || undefined}
      data-step={data.isWithin ? undefined : node.id}
      data-child-step={data.isWithin ? node.id : undefined}
      title={data.sentence ?? node.desc}
    >
      <Handle type="target" position={Position.Top} className={css.handle} />
      <div className={css.name}>
        <State status={look.status} reason={look.reason} bare />
        <span className="cut data">
          <Name title={data.sentence ? `${named}: ${data.sentence}` : named}>{named}</Name>
        </span>
        <Icon size={12} aria-hidden className="muted" />
      </div>
      {data.looping ? <Loop {...data.looping}>{fact}</Loop> : fact}
      <div className={css.badges}>
        {facts.active > 1 ? <span title="runs under way">● {number(facts.active)}</span> : null}
        {facts.decided ? (
          <span title="decided by a person">
            <Hand size={10} aria-hidden />
          </span>
        ) : null}
        {data.trying || facts.retries ? (
          <span title={data.trying ? `try ${data.trying} comes next` : 'retries'}>
            <RefreshCw size={10} aria-hidden /> {data.trying ?? number(facts.retries)}
          </span>
        ) : null}
        {data.openChild && facts.started && node.tools?.includes('playbook') ? (
          <button
            type="button"
            aria-pressed={data.isOpen ?? false}
            aria-label={`The execution that ${named} started`}
            onClick={(event) => {
              event.stopPropagation();
              data.openChild?.(node.id);
            }}
          >
            <CornerDownRight size={12} aria-hidden />
          </button>
        ) : null}
      </div>
      <Handle type="source" position={Position.Bottom} className={css.handle} />
    </div>
  );
}, same);

export function DotNode() {
  return (
    <div className={css.dot}>
      <Handle type="target" position={Position.Top} className={css.handle} />
      <SquareDot size={14} aria-hidden />
      <Handle type="source" position={Position.Bottom} className={css.handle} />
    </div>
  );
}

/** The box of an execution that is shown inside the one that started it. */
export function FrameNode({ data }: NodeProps) {
  const { child } = data as unknown as { child: Child };
  const named = `${child.head?.playbook ?? 'loading…'} ${shortId(child.id)}`;
  return (
    <section className={css.frame} aria-label={`Started by ${child.step}`}>
      <Handle type="target" position={Position.Left} className={css.handle} />
      <span className="row">
        {child.head ? <State status={child.head.status} reason={child.head.reason} /> : null}
        <Link to="/e/$id" params={{ id: child.id }} className="data cut" title={named}>
          {named}
        </Link>
      </span>
    </section>
  );
}

/** A place or a transition of the net. */
export const NetNode = memo(function NetNode({ data }: NodeProps) {
  const { node, tokens, selected } = data as unknown as {
    node: GraphNode;
    tokens: number;
    selected: boolean;
  };
  const isPlace = node.kind === 'place';
  return (
    <div
      className={isPlace ? css.place : css.transition}
      data-selected={selected || undefined}
      data-tokens={tokens || undefined}
      title={node.label}
    >
      <Handle type="target" position={Position.Top} className={css.handle} />
      {isPlace ? <b>{tokens || ''}</b> : <Name>{node.label ?? node.id}</Name>}
      {isPlace ? <span className={css.placeName}>{node.label}</span> : null}
      <Handle type="source" position={Position.Bottom} className={css.handle} />
    </div>
  );
});
