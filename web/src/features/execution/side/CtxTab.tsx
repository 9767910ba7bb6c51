import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { evaluated, history } from '../../../api/calls';
import { keys } from '../../../api/keys';
import type { Json } from '../../../api/shapes';
import { Button, Empty, ErrorBox, Skeleton, TextField, Time, Value } from '../../../kit';
import type { View } from '../view';
import css from './side.module.css';
import { useMoment } from './useMoment';

const SHOWN = 200;

/** The variables at the record that is shown; who wrote each; and any expression over them. */
export function CtxTab({ view }: { view: View }) {
  const moment = useMoment(view);
  const [filter, setFilter] = useState('');
  if (moment.isPending) return <Skeleton />;
  if (moment.isError) return <ErrorBox error={moment.error} retry={() => void moment.refetch()} />;
  const names = Object.keys(moment.data.ctx).filter((name) =>
    name.toLowerCase().includes(filter.toLowerCase()),
  );
  const chosen = view.sel?.kind === 'ctx' ? view.sel.key : null;
  return (
    <div className="stack">
      <Console view={view} />
      {Object.keys(moment.data.ctx).length > 8 ? (
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
            <Value value={moment.data.ctx[name]} name={name} depth={1} />
            {name === chosen ? <History view={view} name={name} /> : null}
          </li>
        ))}
      </ul>
      {names.length > SHOWN ? <p className="muted">{names.length - SHOWN} more keys; filter them.</p> : null}
    </div>
  );
}

function History({ view, name }: { view: View; name: string }) {
  const found = useQuery({
    queryKey: keys.history(view.id, name, view.latest),
    queryFn: () => history(view.id, name),
  });
  if (found.isPending) return <Skeleton lines={2} />;
  if (found.isError) return <ErrorBox error={found.error} />;
  return (
    <ol className={css.history}>
      {found.data.items.map((write) => (
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
  );
}

function Console({ view }: { view: View }) {
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
            placeholder="an expression, e.g. ctx.total > 100"
            value={text}
            onChange={setText}
          />
        </div>
        <Button type="submit">Evaluate</Button>
      </div>
      {asked && found.data ? (
        <div className={css.box} data-testid="evaluated">
          <Value value={found.data.value as Json} />
        </div>
      ) : null}
      {asked && found.isError ? <ErrorBox error={found.error} /> : null}
    </form>
  );
}
