import { useQuery } from '@tanstack/react-query';
import { Dices, FlaskConical, RotateCcw, Undo2 } from 'lucide-react';
import { useState } from 'react';
import { type NextChoice, type WalkThrough, walk } from '../../api/authoring';
import type { Graph, GraphNode, Json } from '../../api/shapes';
import { Button, Drawing, duration, ErrorBox, Skeleton, State, TextField, Value } from '../../kit';
import { type Chosen, caseOfWalk } from './cases';
import { fieldOf, madeOf, startOf, told } from './choices';
import css from './editor.module.css';
import { Played } from './Played';

interface Props {
  text: string;
  graph: Graph | null;
  at: number | undefined;
  onAt: (at: number | undefined) => void;
  selected: string | null;
  onSelect: (node: GraphNode) => void;
  onTest: (added: string) => void;
}

interface Way {
  text: string;
  workload: Record<string, Json>;
  chosen: Chosen[];
  seed: number | null;
}

/** Walk through the text: every outcome, answer and signal is chosen by hand, or all of them by dice. */
export function SimulatePane({ text, graph, at, onAt, selected, onSelect, onTest }: Props) {
  const [given, setGiven] = useState('{}');
  const [wrong, setWrong] = useState('');
  const [way, setWay] = useState<Way>({ text, workload: {}, chosen: [], seed: null });
  const found = useQuery({
    queryKey: ['walk', way],
    queryFn: () =>
      walk(way.text, way.workload, way.seed === null ? way.chosen.map((one) => one.made) : way.seed),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: (before) => before, // what was seen stays until the next is there
  });
  const begin = (seed: number | null) => {
    try {
      const workload = JSON.parse(given || '{}') as Record<string, Json>;
      onAt(undefined);
      setWay({ text, workload, chosen: [], seed });
      setWrong('');
    } catch {
      setWrong('this is no JSON object');
    }
  };
  const choose = (chosen: Chosen[]) => {
    onAt(undefined);
    setWay({ ...way, chosen });
  };
  const seen = found.data;
  return (
    <div className="stack">
      <div className={css.walk}>
        <TextField label="Workload (JSON)" value={given} onChange={setGiven} error={wrong} mono />
        <Button icon={RotateCcw} onClick={() => begin(null)}>
          Begin again
        </Button>
        <Button icon={Dices} onClick={() => begin((way.seed ?? 0) + 1)}>
          At random
        </Button>
        <Button
          icon={Undo2}
          why={way.chosen.length ? null : 'nothing was chosen yet'}
          onClick={() => choose(way.chosen.slice(0, -1))}
        >
          Take back
        </Button>
      </div>
      {text === way.text ? null : <p role="status">The text has changed since this walk began.</p>}
      {seen || found.error ? null : <Skeleton lines={3} />}
      {found.error ? <ErrorBox error={found.error} retry={() => void found.refetch()} /> : null}
      {seen ? <Stand seen={seen} way={way} onTest={onTest} /> : null}
      {seen?.next ? (
        <Choosing
          key={way.chosen.length}
          asked={seen.next}
          busy={found.isFetching}
          onMade={(made) => choose([...way.chosen, made])}
        />
      ) : null}
      {way.chosen.length ? (
        <ol className={css.chosen} aria-label="What was chosen">
          {way.chosen.map((one, n) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: choices are only added and taken back at the end
            <li key={n} className="data">
              {told(one.asked, one.made)}
            </li>
          ))}
        </ol>
      ) : null}
      {graph && seen?.frames ? (
        <Played
          graph={graph}
          frames={seen.frames}
          label="The walk"
          at={at}
          onAt={onAt}
          stuck={seen.status === 'stuck'}
          selected={seen.next?.step ?? selected}
          onSelect={onSelect}
        />
      ) : null}
      {graph && !seen?.frames ? <Drawing graph={graph} factOf={() => null} /> : null}
    </div>
  );
}

/** How it stands: the status, what came out, and what the walk can become. */
function Stand({ seen, way, onTest }: { seen: WalkThrough; way: Way; onTest: (added: string) => void }) {
  if (!seen.ok) return <p>It does not read yet: mend what the list of problems says.</p>;
  const over = !seen.next && way.seed === null;
  const name = `a walk that ends ${seen.status ?? ''}`;
  return (
    <div className="row wrap">
      <State status={seen.status || 'running'} reason={seen.waiting_on ?? ''} />
      <span className="muted">
        {[
          seen.elapsed_s ? `${duration(seen.elapsed_s * 1000)} virtual` : '',
          way.seed === null ? '' : `at random, seed ${way.seed}`,
          seen.refused ? `refused: ${seen.refused}` : '',
        ]
          .filter(Boolean)
          .join(' · ')}
      </span>
      {over ? <Value value={(seen.output ?? null) as Json} name="output" /> : null}
      {over ? (
        <Button icon={FlaskConical} onClick={() => onTest(caseOfWalk(name, way.workload, way.chosen, seen))}>
          Make it a test
        </Button>
      ) : null}
    </div>
  );
}

interface ChoosingProps {
  asked: NextChoice;
  busy: boolean;
  onMade: (made: Chosen) => void;
}

function Choosing({ asked, busy, onMade }: ChoosingProps) {
  const [field, setField] = useState(() => startOf(asked));
  const [wrong, setWrong] = useState('');
  const choose = (option: string) => {
    try {
      onMade({ asked, made: madeOf(asked, option, field) });
    } catch {
      setWrong('this is no JSON');
    }
  };
  return (
    <section className={`${css.choice} stack tight`} aria-label="What happens next?">
      <p className="data">
        <strong>{asked.step}</strong> {asked.what}
      </p>
      <TextField label={fieldOf(asked)} value={field} onChange={setField} error={wrong} mono />
      <div className="row wrap">
        {asked.options.map((option) => (
          <Button key={option} busy={busy} onClick={() => choose(option)}>
            {option}
          </Button>
        ))}
      </div>
    </section>
  );
}
