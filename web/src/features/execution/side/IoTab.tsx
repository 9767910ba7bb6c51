import { useQuery } from '@tanstack/react-query';
import { record } from '../../../api/calls';
import { keys } from '../../../api/keys';
import type { Json } from '../../../api/shapes';
import { Answer, Value } from '../../../kit';
import type { View } from '../view';
import { RunBox } from './RunBox';
import { useMoment } from './useMoment';

function workloadIn(told: Json): Json {
  if (told === null || typeof told !== 'object' || Array.isArray(told)) return null;
  const event = told.event;
  return event !== null && typeof event === 'object' && !Array.isArray(event)
    ? (event?.workload ?? null)
    : null;
}

/** What went in and what came out: of the run that is selected, and of the execution. */
export function IoTab({ view }: { view: View }) {
  const first = useQuery({
    queryKey: keys.record(view.id, 1),
    queryFn: () => record(view.id, 1),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const moment = useMoment(view);
  const last = view.step ? view.story.lastBar(view.step, view.seq) : undefined;
  const run = view.sel?.kind === 'run' ? view.sel.run : last?.run;
  return (
    <div className="stack">
      {run ? <RunBox view={view} run={run} /> : null}
      <h3>Workload</h3>
      <Answer of={first} lines={3}>
        {(told) => <Value value={workloadIn(told)} />}
      </Answer>
      <h3>Output</h3>
      <Answer of={moment} lines={3}>
        {({ output, failures }) => (
          <>
            <Value value={output} />
            {failures.map((failure, n) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: failures have no names
              <p key={n} className="data">
                {failure.step}: {failure.message}
              </p>
            ))}
          </>
        )}
      </Answer>
    </div>
  );
}
