import { Plus } from 'lucide-react';
import { useState } from 'react';
import type { CaseDone, Coverage, Tested } from '../../api/authoring';
import type { Graph, GraphArc } from '../../api/shapes';
import { Button, Choice, Drawing } from '../../kit';
import { takenBy, timesTaken } from './cases';
import css from './editor.module.css';

interface Props {
  graph: Graph;
  tested: Tested | null;
  selected: string | null;
  onSelect: (node: Graph['nodes'][number]) => void;
  onShow: (name: string) => void;
  onAdd: () => void;
}

type Arc = Pick<GraphArc, 'from' | 'to' | 'index'>;
const nameOf = ({ from, index }: Arc) => `${from}/${index ?? 0}`;

/** Which arcs the cases take: a number, or never; of one that is chosen, which cases. */
export function Covered({ graph, tested, selected, onSelect, onShow, onAdd }: Props) {
  const [chosen, setChosen] = useState('');
  const coverage = tested?.coverage;
  const times = (arc: GraphArc) => timesTaken(coverage, arc);
  return (
    <div className="stack">
      <Drawing
        graph={graph}
        factOf={(node) => (node.details?.length ? { text: String(node.details) } : null)}
        arcText={(arc) => {
          const n = times(arc);
          return n === null ? null : n === 0 ? 'never' : `${n} ×`;
        }}
        isTaken={(arc) => times(arc) !== 0}
        isMissed={(arc) => times(arc) === 0}
        selected={selected}
        onSelect={onSelect}
        onArc={coverage ? (arc) => setChosen(nameOf(arc)) : undefined}
      />
      {coverage && tested ? (
        <section aria-label="Arcs and cases" className={css.covered}>
          <Choice
            label="Which cases take an arc"
            value={chosen}
            onChange={setChosen}
            options={[{ value: '', label: 'choose an arc, here or in the graph' }, ...optionsOf(coverage)]}
          />
          {chosen ? <TakenBy cases={takenBy(tested.cases, chosen)} onShow={onShow} onAdd={onAdd} /> : null}
        </section>
      ) : null}
    </div>
  );
}

/** All arcs, those that nobody takes first. */
function optionsOf({ arcs }: Coverage): { value: string; label: string }[] {
  const sorted = [...arcs].sort((a, b) => Number(a.count > 0) - Number(b.count > 0));
  return sorted.map((arc) => ({
    value: nameOf(arc),
    label: `${arc.from} → ${arc.to}: ${arc.count ? `${arc.count} ×` : 'never'}`,
  }));
}

interface TakenProps {
  cases: readonly CaseDone[];
  onShow: (name: string) => void;
  onAdd: () => void;
}

function TakenBy({ cases, onShow, onAdd }: TakenProps) {
  return (
    <div className="row wrap" role="status">
      {cases.length ? (
        cases.map((one) => (
          <Button key={one.name} onClick={() => onShow(one.name)}>
            {one.name}
          </Button>
        ))
      ) : (
        <>
          <span>No case takes it.</span>
          <Button icon={Plus} onClick={onAdd}>
            Write a case
          </Button>
        </>
      )}
    </div>
  );
}
