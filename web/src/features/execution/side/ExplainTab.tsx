import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { explain, explainAt } from '../../../api/calls';
import { keys } from '../../../api/keys';
import type { Explained, Json, Operand, WaitAct, WaitingTold } from '../../../api/shapes';
import { Answer, Button, State, shortId } from '../../../kit';
import { placeOf } from '../../../kit/limit-words';
import { Place } from '../../../kit/Place';
import { isWait } from '../../../viewer/looks';
import type { View } from '../view';
import { itemOf } from './item';
import css from './side.module.css';
import { useSettled } from './useSettled';

const LINE_MS = 3000;

export function useExplanation(view: Pick<View, 'id' | 'live' | 'seq'>, version: number) {
  const seq = useSettled(view.live ? version : view.seq);
  return useQuery({
    queryKey: keys.explain(view.id, view.live ? version : -seq),
    queryFn: async () => (view.live ? (await explain(view.id)).explanation : await explainAt(view.id, seq)),
    enabled: seq > 0 && view.id !== '',
    placeholderData: (was) => was,
    // those in front leave, and nothing of this execution changes by that
    refetchInterval: ({ state }) => (view.live && placeOf(state.data?.waiting ?? []) ? LINE_MS : false),
  });
}

/** Why it waits, what the rule says with its values, and what would end it. */
export function ExplainTab({ view }: { view: View }) {
  const found = useExplanation(view, view.latest);
  return (
    <Answer of={found} lines={5}>
      {(told) => <Explanation view={view} told={told} />}
    </Answer>
  );
}

function Explanation({ view, told }: { view: View; told: Explained['explanation'] }) {
  const own = told.waiting.filter((one) => one.step === view.step);
  const others = told.waiting.filter((one) => one.step !== view.step);
  // the only one that waits says it better
  const said = told.waiting.length === 1 && told.status === 'waiting';
  return (
    <div className="stack">
      <div className="row wrap">
        <State status={told.status} reason={told.reason} />
      </div>
      {said ? null : <p className="data">{told.sentence}</p>}
      {[...own, ...others].slice(0, 50).map((one) => (
        <WaitBox key={one.token} view={view} one={one} />
      ))}
      {told.waiting.length === 0 ? <p className="muted">Nothing waits.</p> : null}
    </div>
  );
}

function operandOf(operand: Operand): { name: string; value: Json } {
  return { name: String(operand.text), value: operand.value ?? null };
}

function WaitBox({ view, one }: { view: View; one: WaitingTold }) {
  return (
    <article className={css.box}>
      <p className="data">
        <State status={isWait(one) ? 'waiting' : 'running'} reason={one.reason} bare /> {one.sentence}
      </p>
      {one.queue ? <Place place={one.queue} /> : null}
      {one.rule ? <pre className="data">{one.rule}</pre> : null}
      <div className="row wrap">
        {one.operands.map((operand) => {
          const { name, value } = operandOf(operand);
          const key = /^ctx\.([\w-]+)/.exec(name)?.[1];
          return (
            <button
              key={name}
              type="button"
              className={`${css.chip} data`}
              onClick={() => key && view.go({ sel: `ctx:${key}`, tab: 'ctx' })}
            >
              {name} = {JSON.stringify(value)?.slice(0, 80)}
            </button>
          );
        })}
      </div>
      {one.unblocked_by ? <p className="muted data">Ends by: {one.unblocked_by}.</p> : null}
      {one.child ? (
        <p>
          waits for{' '}
          <Link to="/e/$id" params={{ id: one.child }}>
            {shortId(one.child)}
          </Link>
        </p>
      ) : null}
      <div className="row wrap">
        {(one.acts ?? []).map((act) => (
          <ActButton key={act.act + act.path} view={view} act={act} step={one.step} />
        ))}
      </div>
    </article>
  );
}

const WORDS: Record<WaitAct['act'], string> = {
  complete: 'Open the work item',
  signal: 'Send the signal…',
  retry: 'Try once more…',
  patch: 'Change ctx…',
  resume: 'Resume…',
  override: 'Decide its outcome…',
};

function ActButton({ view, act, step }: { view: View; act: WaitAct; step: string }) {
  if (act.act === 'complete') {
    return (
      <Link
        className="act"
        to="/inbox"
        search={{ box: 'all', item: `${view.id}/${itemOf({ acts: [act] })}` }}
      >
        {WORDS.complete}
      </Link>
    );
  }
  const isOfStep = act.act === 'override' || act.act === 'retry';
  const signal = /\/signals\/([^/]+)$/.exec(act.path)?.[1];
  const start = signal ? { name: decodeURIComponent(signal) } : undefined;
  return (
    <Button {...view.offer(act.act, start, isOfStep ? step : undefined).button}>{WORDS[act.act]}</Button>
  );
}
