import { FlaskConical } from 'lucide-react';
import type { Checked, Finding, Repair, Soundness } from '../../api/authoring';
import type { Graph, GraphNode } from '../../api/shapes';
import { Button, Drawing, type NodeFact, number } from '../../kit';
import { troubled } from './diagnostics';
import css from './editor.module.css';
import { Played } from './Played';
import { Repairs } from './Repairs';

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
  isOld: boolean;
  selected: string | null;
  at: number | undefined;
  onAt: (at: number | undefined) => void;
  onSelect: (node: GraphNode) => void;
  onLine: (line: number) => void;
  onTest: () => void;
  text: string;
  onFix: (fix: Repair) => void;
}

/** What stands in the box of a step: what is wrong with it, else what it does. */
function told(node: GraphNode, wrong: Finding | undefined): NodeFact | null {
  if (wrong) {
    const text = `${wrong.severity} ${wrong.code}`;
    return wrong.severity === 'error' ? { text, token: 'failed' } : { text };
  }
  return node.details?.length ? { text: String(node.details) } : null;
}

/** The graph, and where the net can get stuck: the shortest way there, step by step. */
export function ProofPane(props: Props) {
  const { checked, isOld, selected, at, onAt, onSelect, onLine, onTest, text, onFix } = props;
  const graph = checked.graph as Graph | null;
  const proof = checked.soundness;
  const wrong = troubled(checked.problems, checked.outline);
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
          <Played
            graph={graph}
            frames={proof.frames}
            label="The shortest way to get stuck"
            at={at}
            onAt={onAt}
            stuck
            isOfNet
            selected={selected}
            onSelect={onSelect}
          />
          <div className="row wrap">
            <Button icon={FlaskConical} onClick={onTest}>
              Make it a test
            </Button>
            <Repairs text={text} onFix={onFix} />
          </div>
        </>
      ) : null}
      {graph && !proof?.frames ? (
        <div data-old={isOld || undefined} className={css.drawn}>
          {isOld ? <p role="status">The text does not read: this is the graph as it last did.</p> : null}
          <Drawing
            graph={graph}
            factOf={(node) => told(node, wrong.get(node.step ?? node.id))}
            selected={selected}
            onSelect={onSelect}
          />
        </div>
      ) : null}
      {graph ? null : <p className="muted">It is drawn once it reads.</p>}
    </div>
  );
}
