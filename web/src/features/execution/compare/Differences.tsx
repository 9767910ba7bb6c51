import type { ReactNode } from 'react';
import type { Diff, Json } from '../../../api/shapes';
import { number, Value } from '../../../kit';
import type { StoryStore } from '../../../story/store';
import css from './compare.module.css';

interface Props {
  told: Diff;
  sides: readonly [StoryStore, StoryStore];
  seqs: readonly [number, number];
  onStep: (step: string) => void;
}

interface Difference {
  left?: Json;
  right?: Json;
}

/** What came of it: the steps, ctx and the output, left and right. */
export function Differences({ told, sides, seqs, onStep }: Props) {
  const fields = Object.entries((told.first_difference?.fields ?? {}) as Record<string, Difference>);
  const ctx = Object.entries(told.ctx as Record<string, Difference>);
  const output = told.output as [Json, Json] | null;
  return (
    <div className={css.tables}>
      <Part
        title="Where they part"
        empty="Nowhere: every record is the same."
        isEmpty={!told.first_difference}
      >
        <Rows
          rows={fields.map(([path, one]) => [path, one])}
          none="One of them ends here, the other goes on."
        />
      </Part>
      <Part title="Steps at these records" isEmpty={false} empty="">
        <Steps sides={sides} seqs={seqs} onStep={onStep} />
      </Part>
      <Part
        title="Other steps taken"
        empty="Both took the same steps in the same order."
        isEmpty={!told.path.length}
      >
        <Rows rows={told.path.map((one, n) => [String(n + 1), { left: one.left, right: one.right }])} />
      </Part>
      <Part title="ctx" empty="It is the same." isEmpty={!ctx.length}>
        <Rows rows={ctx} />
      </Part>
      <Part title="Output" empty="It is the same." isEmpty={output === null}>
        <Rows rows={[['output', { left: output?.[0], right: output?.[1] }]]} />
      </Part>
    </div>
  );
}

interface PartProps {
  title: string;
  empty: string;
  isEmpty: boolean;
  children: ReactNode;
}

function Part({ title, empty, isEmpty, children }: PartProps) {
  return (
    <section aria-label={title} className="stack tight">
      <h3>{title}</h3>
      {isEmpty ? <p className="muted">{empty}</p> : children}
    </section>
  );
}

function Rows({ rows, none }: { rows: readonly [string, Difference][]; none?: string }) {
  if (!rows.length) return <p className="muted">{none}</p>;
  return (
    <table className={css.table}>
      <thead>
        <tr>
          <th scope="col">What</th>
          <th scope="col">Left</th>
          <th scope="col">Right</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, one]) => (
          <tr key={name}>
            <th scope="row" className="data">
              {name}
            </th>
            <td>
              {one.left === undefined ? (
                <i className="muted">not there</i>
              ) : (
                <Value value={one.left} depth={1} />
              )}
            </td>
            <td>
              {one.right === undefined ? (
                <i className="muted">not there</i>
              ) : (
                <Value value={one.right} depth={1} />
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** What a step had done by a record, in one word for a cell. */
function saidOf(story: StoryStore, seq: number, step: string): string {
  const facts = story.stepAt(seq, step);
  const parts = [
    facts.active ? `${number(facts.active)} under way` : '',
    facts.ready ? `${number(facts.ready)} waiting` : '',
    facts.done ? `${number(facts.done)} done` : '',
    facts.failed ? `${number(facts.failed)} failed` : '',
  ].filter(Boolean);
  return parts.join(', ') || 'not reached';
}

function Steps({ sides, seqs, onStep }: Omit<Props, 'told'>) {
  const steps = [...new Set([...sides[0].steps, ...sides[1].steps])];
  const rows = steps.map((step) => ({
    step,
    left: saidOf(sides[0], seqs[0], step),
    right: saidOf(sides[1], seqs[1], step),
  }));
  const unlike = rows.filter((row) => row.left !== row.right);
  if (!unlike.length) return <p className="muted">All {number(rows.length)} steps are alike here.</p>;
  return (
    <table className={css.table}>
      <thead>
        <tr>
          <th scope="col">Step</th>
          <th scope="col">Left</th>
          <th scope="col">Right</th>
        </tr>
      </thead>
      <tbody>
        {unlike.map((row) => (
          <tr key={row.step}>
            <th scope="row">
              <button type="button" className={`${css.step} data`} onClick={() => onStep(row.step)}>
                {row.step}
              </button>
            </th>
            <td>{row.left}</td>
            <td>{row.right}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
