import { ChevronLeft, ChevronRight, SkipBack, SkipForward } from 'lucide-react';
import { useMemo, useState } from 'react';
import type { Checked, Soundness } from '../../api/authoring';
import type { Graph, GraphNode } from '../../api/shapes';
import { Drawing, IconButton, type NodeFact, number } from '../../kit';
import { StoryStore } from '../../story/store';
import css from './editor.module.css';

/** What the proof says, in a few words. */
export function verdict(found: Soundness | null | undefined): string {
  if (!found) return 'no proof: it does not read';
  if (found.verdict === 'sound') {
    return `sound${found.gated ? ' if guards allow' : ''} (${number(found.states)} states)`;
  }
  if (found.verdict === 'unsound') return 'not sound';
  return `no violation up to ${number(found.states)} states`;
}

interface Props {
  checked: Checked;
  selected: string | null;
  onSelect: (node: GraphNode) => void;
  onLine: (line: number) => void;
}

/** The graph, and where the net can get stuck: the shortest way there, step by step. */
export function ProofPane({ checked, selected, onSelect, onLine }: Props) {
  const graph = checked.graph as Graph | null;
  const proof = checked.soundness;
  const story = useMemo(() => {
    if (!proof?.frames) return null;
    const made = new StoryStore();
    made.append(proof.frames);
    return made;
  }, [proof]);
  const [at, setAt] = useState<number | null>(null);
  const seq = story ? Math.min(at ?? story.version, story.version) : 0;
  const ends = story !== null && seq === story.version;
  const factOf = (node: GraphNode): NodeFact | null => {
    if (!story) return node.details?.length ? { text: String(node.details) } : null;
    const facts = story.stepAt(seq, node.step ?? node.id);
    const here = facts.active + facts.ready;
    if (!here) return facts.started ? { text: 'done', token: 'done' } : null;
    const text = facts.active ? `${number(facts.active)} running` : `${number(facts.ready)} waiting`;
    return { text, token: ends ? 'stuck' : facts.active ? 'running' : 'waiting' };
  };
  return (
    <div className={`${css.proof} stack`}>
      {proof?.findings.map((one) => (
        <p key={`${one.code} ${one.line} ${one.message}`} className="data">
          <strong>{one.code}</strong> {one.message}
          {one.hint ? <span className="muted"> {one.hint}</span> : null}{' '}
          <button type="button" className={css.link} onClick={() => onLine(one.line)}>
            line {one.line}
          </button>
        </p>
      ))}
      {story ? (
        <div className="row" role="group" aria-label="The shortest way to get stuck">
          <IconButton label="First" onClick={() => setAt(0)}>
            <SkipBack size={16} />
          </IconButton>
          <IconButton label="Back" onClick={() => setAt(Math.max(0, seq - 1))}>
            <ChevronLeft size={16} />
          </IconButton>
          <IconButton label="On" onClick={() => setAt(Math.min(story.version, seq + 1))}>
            <ChevronRight size={16} />
          </IconButton>
          <IconButton label="Last" onClick={() => setAt(story.version)}>
            <SkipForward size={16} />
          </IconButton>
          <span role="status">
            {seq} of {story.version}
            {seq ? ` · ${story.stepOf(seq)} ${story.typeOf(seq)}` : ''}
          </span>
        </div>
      ) : null}
      {graph ? (
        <Drawing graph={graph} factOf={factOf} selected={selected} onSelect={onSelect} />
      ) : (
        <p className="muted">It is drawn once it reads.</p>
      )}
    </div>
  );
}
