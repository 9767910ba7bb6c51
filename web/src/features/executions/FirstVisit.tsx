import { useState } from 'react';
import { offer, sent } from '../../acts/gate';
import { START, type StartView } from '../../acts/starting/start';
import { useDoer } from '../../acts/useDoer';
import type { Execution } from '../../api/shapes';
import { Button, Empty, ErrorBox } from '../../kit';

interface Props {
  onStart: () => void;
  onStarted: (id: string) => void;
}

/** Nothing is here yet: what an execution is, how one is started, and one that shows everything and needs nothing. */
export function FirstVisit({ onStart, onStarted }: Props) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const view: StartView = { path: 'tour', workload: {}, labels: {}, ...useDoer() };
  const tour = async () => {
    setBusy(true);
    setError(null);
    try {
      const { default: text } = await import('./tour.yaml?raw');
      const made = await sent<Execution, StartView>(START, { ...view, text });
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
            <Button kind="main" busy={busy} {...offer(START, view, () => void tour()).button}>
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
