import { useQuery } from '@tanstack/react-query';
import { iterations } from '../../../api/calls';
import { keys } from '../../../api/keys';
import type { IterationRow } from '../../../api/shapes';
import { Answer, Button, Duration, State } from '../../../kit';
import type { View } from '../view';
import { iterationAsOf } from './asOf';

/** One iteration of a loop. */
export function IterationBox({ view, run, n }: { view: View; run: number; n: number }) {
  const version = view.story.barOf(run)?.last || view.latest;
  const found = useQuery({
    queryKey: keys.iterations(view.id, run, { n, version }),
    queryFn: () => iterations(view.id, run, n, 1),
  });
  return (
    <Answer of={found} lines={3}>
      {({ items: [one] }) =>
        one ? (
          <Iteration view={view} one={iterationAsOf(one, view.seq)} />
        ) : (
          <p className="muted">There is no iteration {n}.</p>
        )
      }
    </Answer>
  );
}

function Iteration({ view, one }: { view: View; one: IterationRow }) {
  const first = one.first;
  return (
    <article className="stack tight">
      <div className="row wrap">
        <h2>Iteration {one.path.join('.')}</h2>
        <State status={one.state} />
        <Duration ms={one.ms} />
      </div>
      <p className="muted">
        {one.attempts} {one.attempts === 1 ? 'try' : 'tries'} · records {one.first ?? '–'} to{' '}
        {one.last ?? '…'}
      </p>
      {one.error ? <p className="data">{one.error}</p> : null}
      {one.result ? <pre className="data">{one.result}</pre> : null}
      {first ? (
        <div>
          <Button onClick={() => view.go({ at: first >= view.story.version ? undefined : first })}>
            Go to its beginning
          </Button>
        </div>
      ) : null}
    </article>
  );
}
