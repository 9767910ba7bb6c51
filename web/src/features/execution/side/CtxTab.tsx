import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { evaluated } from '../../../api/calls';
import type { Json, Moment } from '../../../api/shapes';
import { Answer, Button, Empty, ErrorBox, number, TextField, Time, Value } from '../../../kit';
import { useHistory } from '../useWrites';
import type { View } from '../view';
import css from './side.module.css';
import { useMoment, useMomentAt } from './useMoment';

const SHOWN = 200;
/** So many of the last writes to a variable are listed; the log has all of them. */
const WRITES_SHOWN = 100;

/** The variables at the record that is shown; who wrote each; and any expression over them. */
export function CtxTab({ view }: { view: View }) {
  const moment = useMoment(view);
  return <Answer of={moment}>{(told) => <Variables view={view} told={told} />}</Answer>;
}

function Variables({ view, told }: { view: View; told: Moment }) {
  const { ctx, seq } = told;
  const [filter, setFilter] = useState('');
  const names = Object.keys(ctx).filter((name) => name.toLowerCase().includes(filter.toLowerCase()));
  const chosen = view.sel?.kind === 'ctx' ? view.sel.key : null;
  const before = useMomentAt(view.id, seq - 1).data;
  return (
    <div className="stack">
      <Console view={view} names={Object.keys(ctx)} />
      {Object.keys(ctx).length > 8 ? (
        <TextField hideLabel label="Filter keys" placeholder="key" value={filter} onChange={setFilter} />
      ) : null}
      {names.length === 0 ? (
        <Empty title="ctx is empty here">Steps write into it with `set_ctx`.</Empty>
      ) : null}
      <ul className={css.keys}>
        {names.slice(0, SHOWN).map((name) => (
          <li key={name} data-selected={name === chosen || undefined}>
            <button
              type="button"
              className={css.key}
              aria-expanded={name === chosen}
              onClick={() => view.select(name === chosen ? null : { kind: 'ctx', key: name })}
              title="Who wrote it"
            >
              history
            </button>
            <Value value={ctx[name]} name={name} depth={1} />
            {isChanged(before, told, name) ? <p className={css.changed}>changed by this record</p> : null}
            {name === chosen ? <History view={view} name={name} /> : null}
          </li>
        ))}
      </ul>
      {names.length > SHOWN ? <p className="muted">{names.length - SHOWN} more keys; filter them.</p> : null}
    </div>
  );
}

/** One variable: its value at the record that is shown, and all that was written to it. */
export function CtxBox({ view, name }: { view: View; name: string }) {
  const moment = useMoment(view);
  return (
    <div className="stack">
      <h2 className="data">ctx.{name}</h2>
      <Answer of={moment} lines={3}>
        {({ ctx, seq }) =>
          name in ctx ? (
            <Value value={ctx[name]} />
          ) : (
            <p className="muted">Nothing was written to it by record {seq}.</p>
          )
        }
      </Answer>
      <h3>History</h3>
      <History view={view} name={name} />
    </div>
  );
}

function History({ view, name }: { view: View; name: string }) {
  const found = useHistory(view.id, name, view.latest);
  return (
    <Answer of={found} lines={2}>
      {({ items, next }) => (
        <ol className={css.history} start={Math.max(0, items.length - WRITES_SHOWN) + 1}>
          {next ? (
            <li className="muted">Only the first {number(items.length)} writes are looked at.</li>
          ) : null}
          {items.slice(-WRITES_SHOWN).map((write) => (
            <li key={write.seq} data-now={write.seq <= view.seq || undefined}>
              <button
                type="button"
                className={css.chip}
                onClick={() => view.go({ at: write.seq >= view.story.version ? undefined : write.seq })}
              >
                record {write.seq}
              </button>{' '}
              <Time at={write.at} /> <span className="data">{write.step ?? write.actor ?? write.type}</span>
              <Value value={write.value} depth={2} />
            </li>
          ))}
        </ol>
      )}
    </Answer>
  );
}

type Then = Pick<Moment, 'seq' | 'ctx'>;

/** Whether a variable was another one, or none, at the record before; what was fetched of another record says nothing. */
export function isChanged(before: Then | undefined, now: Then, name: string): boolean {
  if (before?.seq !== now.seq - 1) return false;
  return JSON.stringify(before.ctx[name]) !== JSON.stringify(now.ctx[name]);
}

const SUGGESTED = 100;

function Console({ view, names }: { view: View; names: readonly string[] }) {
  const [text, setText] = useState('');
  const [asked, setAsked] = useState<{ text: string; seq: number } | null>(null);
  const found = useQuery({
    queryKey: ['execution', view.id, 'eval', asked],
    queryFn: () =>
      evaluated(view.id, asked?.seq ?? 1, asked?.text ?? '', view.step ? { step: view.step } : {}),
    enabled: asked !== null,
    retry: false,
  });
  return (
    <form
      className="stack tight"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim()) setAsked({ text, seq: view.seq });
      }}
    >
      <div className="row">
        <div className="grow">
          <TextField
            hideLabel
            mono
            label={`Expression at record ${view.seq}`}
            list="ctx-names"
            placeholder="an expression, e.g. ctx.total > 100"
            value={text}
            onChange={setText}
          />
        </div>
        <Button type="submit">Evaluate</Button>
      </div>
      <datalist id="ctx-names">
        {['workload', 'ctx', ...names.slice(0, SUGGESTED).map((name) => `ctx.${name}`)].map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {asked && found.data ? (
        <div className={css.box} data-testid="evaluated">
          <Value value={found.data.value as Json} />
        </div>
      ) : null}
      {asked && found.isError ? <ErrorBox error={found.error} /> : null}
    </form>
  );
}
