import { FlaskConical } from 'lucide-react';
import type { Checked, Soundness } from '../../api/authoring';
import type { Graph, GraphNode } from '../../api/shapes';
import { Button, Drawing, number } from '../../kit';
import css from './editor.module.css';
import { StoryPlayer } from './StoryPlayer';

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
  at: number | undefined;
  onAt: (at: number | undefined) => void;
  onSelect: (node: GraphNode) => void;
  onLine: (line: number) => void;
  onTest: () => void;
}

/** The graph, and where the net can get stuck: the shortest way there, step by step. */
export function ProofPane({ checked, selected, at, onAt, onSelect, onLine, onTest }: Props) {
  const graph = checked.graph as Graph | null;
  const proof = checked.soundness;
  return (
    <div className="stack">
      {proof?.findings.map((one) => (
        <p key={`${one.code} ${one.line} ${one.message}`} className="data">
          <strong>{one.code}</strong> {one.message}
          {one.hint ? <span className="muted"> {one.hint}</span> : null}{' '}
          <button type="button" className={css.link} onClick={() => onLine(one.line)}>
            line {one.line}
          </button>
        </p>
      ))}
      {graph && proof?.frames ? (
        <>
          <StoryPlayer
            graph={graph}
            frames={proof.frames}
            label="The shortest way to get stuck"
            at={at}
            onAt={onAt}
            stuck
            selected={selected}
            onSelect={onSelect}
          />
          <div>
            <Button icon={FlaskConical} onClick={onTest}>
              Make it a test
            </Button>
          </div>
        </>
      ) : null}
      {graph && !proof?.frames ? (
        <Drawing
          graph={graph}
          factOf={(node) => (node.details?.length ? { text: String(node.details) } : null)}
          selected={selected}
          onSelect={onSelect}
        />
      ) : null}
      {graph ? null : <p className="muted">It is drawn once it reads.</p>}
    </div>
  );
}
