import { Play } from 'lucide-react';
import { useState, useSyncExternalStore } from 'react';
import { hindrance } from '../../acts/registry';
import { START, type StartView } from '../../acts/starting/start';
import { carryOut, onceKey } from '../../api/client';
import { connection } from '../../api/connection';
import type { Execution } from '../../api/shapes';
import { Button, Empty, ErrorBox } from '../../kit';

interface Props {
  may: readonly string[];
  onStart: () => void;
  onStarted: (id: string) => void;
}

/** Nothing is here yet: what an execution is, how one is started, and one that shows everything and needs nothing. */
export function FirstVisit({ may, onStart, onStarted }: Props) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const offline = useSyncExternalStore(connection.subscribe, connection.getLine) === 'offline';
  const view: StartView = { path: 'tour', workload: {}, labels: {}, may, offline };
  const tour = async () => {
    setBusy(true);
    setError(null);
    try {
      const { default: text } = await import('./tour.yaml?raw');
      const call = START.call({ ...view, text }, {});
      const made = await carryOut<Execution>({ ...call, headers: { 'Idempotency-Key': onceKey() } });
      onStarted(made.id);
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return (
    <div className="grow">
      <Empty
        title="Nothing has run here yet"
        command="petra run examples/hello.yaml"
        act={
          <div className="row wrap">
            <Button
              kind="main"
              icon={Play}
              busy={busy}
              why={hindrance(START, view)}
              onClick={() => void tour()}
            >
              Start the tour
            </Button>
            <Button onClick={onStart}>Start a playbook…</Button>
          </div>
        }
      >
        <p>
          An execution is one run of a playbook: everything it did is kept, and can be looked at step by step.
        </p>
      </Empty>
      {error ? <ErrorBox error={error} /> : null}
    </div>
  );
}
