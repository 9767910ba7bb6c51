import { useQuery } from '@tanstack/react-query';
import { tokenAt, tokensAt } from '../../../api/calls';
import { keys } from '../../../api/keys';
import type { Json, TokenThen } from '../../../api/shapes';
import { Answer, Button, number, Value } from '../../../kit';
import type { View } from '../view';
import css from './side.module.css';
import { useSettled } from './useSettled';

/** The record that is asked about: the one that is shown, once the hand rests. */
function useAsked(view: View): number {
  return useSettled(view.live ? view.latest : view.seq);
}

/** One token: where it is, by which arc it came, since when, and what it carries. */
export function TokenBox({ view, token }: { view: View; token: string }) {
  const seq = useAsked(view);
  const found = useQuery({
    queryKey: keys.tokensAt(view.id, seq, token),
    queryFn: () => tokenAt(view.id, seq, token),
    enabled: seq > 0,
    placeholderData: (was) => was,
  });
  return (
    <Answer of={found} lines={4}>
      {(one) => (one ? <TokenTold view={view} one={one} /> : <NotThere seq={seq} />)}
    </Answer>
  );
}

function NotThere({ seq }: { seq: number }) {
  return <p className="muted">At record {number(seq)} it is nowhere: it was not made yet, or is used up.</p>;
}

function TokenTold({ view, one }: { view: View; one: TokenThen }) {
  const { arc } = one;
  return (
    <div className="stack">
      <h2 className="data">Token {one.id}</h2>
      <div className="row wrap">
        <Button onClick={() => view.select({ kind: 'place', place: one.place })}>{`in ${one.place}`}</Button>
        {arc ? (
          <Button onClick={() => view.select({ kind: 'arc', from: arc[0], index: arc[1] })}>
            {`by arc ${arc[1] + 1} of ${arc[0]}`}
          </Button>
        ) : null}
        <Button onClick={() => view.select({ kind: 'rec', seq: one.since })}>
          {`since record ${number(one.since)}`}
        </Button>
      </div>
      {one.branch.length ? (
        <p className="data">branch: {one.branch.map(([step, n]) => `${n} of ${step}`).join(', within ')}</p>
      ) : null}
      <h3>Arguments</h3>
      <Value value={one.args as Json} depth={1} />
    </div>
  );
}

/** A place: what is in it at the record that is shown. */
export function PlaceBox({ view, place }: { view: View; place: string }) {
  const seq = useAsked(view);
  const found = useQuery({
    queryKey: keys.tokensAt(view.id, seq, place),
    queryFn: () => tokensAt(view.id, seq, place),
    enabled: seq > 0,
    placeholderData: (was) => was,
  });
  const { step } = view;
  return (
    <div className="stack">
      <div className="row wrap">
        <h2 className="data">{place}</h2>
        {step ? <Button onClick={() => view.select({ kind: 'step', step })}>{`Step ${step}`}</Button> : null}
      </div>
      <Answer of={found} lines={3}>
        {({ items, next }) => (
          <>
            {items.length === 0 ? <p className="muted">No token is in it here.</p> : null}
            <ul className={css.keys} aria-label="Tokens in it">
              {items.map((one) => (
                <li key={one.id} className="row wrap">
                  <button
                    type="button"
                    className={`${css.chip} data`}
                    onClick={() => view.select({ kind: 'token', token: one.id })}
                  >
                    {one.id}
                  </button>
                  <span className="muted">since record {number(one.since)}</span>
                </li>
              ))}
            </ul>
            {next ? <p className="muted">The first {number(items.length)} of them are listed.</p> : null}
          </>
        )}
      </Answer>
    </div>
  );
}
