import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import { ActDialog } from '../../acts/ActDialog';
import { named } from '../../acts/act';
import { CopyAs } from '../../acts/CopyAs';
import { HINDERED, offer, sent } from '../../acts/gate';
import { completing, ITEM_ACTS, type ItemAct, type ItemView, saving } from '../../acts/items';
import { useDoer } from '../../acts/useDoer';
import { basePath } from '../../api/client';
import { actionsOf, changedFields, isOpen, startData, type WorkItem, workItem } from '../../api/items';
import { keys } from '../../api/keys';
import { problemOf } from '../../api/problems';
import type { Json, Me } from '../../api/shapes';
import {
  Answer,
  Button,
  ErrorBox,
  Kbd,
  MenuButton,
  Skeleton,
  shortId,
  Time,
  toast,
  useKeys,
  Value,
} from '../../kit';
import { refusedAt } from '../../kit/refusal';
import { dueIn } from './due';
import { History } from './History';
import css from './inbox.module.css';

const SchemaForm = lazy(() => import('../../kit/SchemaForm'));
const SAVE_MS = 1000;

interface PaneProps {
  execution: string;
  id: string;
  who: Me;
  onClose: () => void;
}

/** One work item: what is asked, the form, and what can be done. */
export function ItemPane({ execution, id, who, onClose }: PaneProps) {
  const found = useQuery({ queryKey: keys.workItem(execution, id), queryFn: () => workItem(execution, id) });
  return (
    <aside className={`${css.pane} stack`} aria-label="The work item">
      <Answer of={found}>{(item) => <Shown item={item} who={who} onClose={onClose} />}</Answer>
    </aside>
  );
}

/** The draft: what is filled in, kept by the server a moment after typing ends. */
function useDraft(item: WorkItem, view: ItemView) {
  const [data, setData] = useState<Json>(() => startData(item));
  const [state, setState] = useState<'same' | 'changed' | 'saved' | 'failed'>('same');
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const latest = useRef(view);
  latest.current = view;
  useEffect(() => () => clearTimeout(timer.current), []);
  const change = (next: Json) => {
    if (JSON.stringify(next) === JSON.stringify(data)) return;
    setData(next);
    setState('changed');
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      sent(saving(next), latest.current, {}, null).then(
        () => setState('saved'),
        // only who holds it may keep a draft: that is said beside it, and no failure
        (problem: unknown) => problemOf(problem).code !== HINDERED && setState('failed'),
      );
    }, SAVE_MS);
  };
  const stop = () => clearTimeout(timer.current);
  return { data, change, state, stop };
}

function Shown({ item, who, onClose }: { item: WorkItem; who: Me; onClose: () => void }) {
  const client = useQueryClient();
  const view: ItemView = { item, me: who.name, ...useDoer() };
  const draft = useDraft(item, view);
  const [asks, setAsks] = useState<ItemAct | null>(null);
  const [busy, setBusy] = useState('');
  const [error, setError] = useState<unknown>(null);
  const refresh = () => void client.invalidateQueries({ queryKey: ['work-items'] });
  const send = async (act: ItemAct) => {
    draft.stop(); // a draft that comes after the decision would be refused
    setBusy(act.id);
    setError(null);
    try {
      await sent(act, view);
      toast(`${named(act)}: done`);
    } catch (problem) {
      setError(problem);
    }
    setBusy('');
    refresh();
  };
  const offerOf = (act: ItemAct) =>
    offer(act, view, () => (act.fields.length ? setAsks(act) : void send(act)));
  const decisions = actionsOf(item).map((action, n) => completing(action, n, draft.data));
  const first = decisions[0];
  useKeys([
    ...(isOpen(item) ? decisions.slice(0, 9) : []).map((act) => offerOf(act).key),
    ...ITEM_ACTS.map((act) => offerOf(act).key),
    ...(first && isOpen(item) ? [{ ...offerOf(first).key, keys: 'Mod+Enter', always: true }] : []),
  ]);
  const claim = ITEM_ACTS.find((act) => act.id === 'claim');
  return (
    <>
      <div className="row">
        <h2 className="grow data">{item.title}</h2>
        <Button kind="quiet" onClick={onClose}>
          Close
        </Button>
      </div>
      <Facts item={item} />
      {item.body.spec.description ? <p className={`${css.text} data`}>{item.body.spec.description}</p> : null}
      <Filled item={item} draft={draft} error={error} />
      {isOpen(item) ? (
        <div className="row wrap">
          {decisions.map((act, n) => (
            <Button
              key={act.id}
              kind={n === 0 ? 'main' : 'plain'}
              busy={busy === act.id}
              {...offerOf(act).button}
            >
              {act.label} {n < 9 ? <Kbd>{act.keys}</Kbd> : ''}
            </Button>
          ))}
          {claim && !item.holder ? (
            <Button busy={busy === 'claim'} {...offerOf(claim).button}>
              Claim
            </Button>
          ) : null}
          <MenuButton
            label="More acts"
            items={ITEM_ACTS.map((act) => ({ ...offerOf(act).item, label: act.label }))}
          >
            More
          </MenuButton>
        </div>
      ) : (
        <Decided item={item} />
      )}
      {error ? <ErrorBox error={error} /> : null}
      <FormNotes item={item} draft={draft} />
      <Comments item={item} />
      <History item={item} />
      {isOpen(item) && first ? (
        <details>
          <summary>Do it elsewhere</summary>
          <CopyAs
            call={first.call(view, {})}
            cli={first.cli(view, {})}
            origin={`${location.origin}${basePath()}`}
          />
        </details>
      ) : null}
      {asks ? <ActDialog act={asks} view={view} onClose={() => setAsks(null)} onDone={refresh} /> : null}
    </>
  );
}

function Facts({ item }: { item: WorkItem }) {
  const due = dueIn(item.due, Date.now());
  const asked = [...item.users, ...item.roles.map((role) => `role ${role}`)].join(', ') || 'anybody';
  return (
    <dl className={css.facts}>
      <dt>State</dt>
      <dd>
        {item.state}
        {item.holder ? <span className="data"> by {item.holder}</span> : null}
      </dd>
      <dt>Asked</dt>
      <dd className="data">{asked}</dd>
      {item.excluded.length ? (
        <>
          <dt>Not</dt>
          <dd className="data">{item.excluded.join(', ')}</dd>
        </>
      ) : null}
      {item.due ? (
        <>
          <dt>Due</dt>
          <dd data-late={due.late || undefined} className={css.due}>
            {due.text} (<Time at={item.due} />)
          </dd>
        </>
      ) : null}
      <dt>From</dt>
      <dd>
        <Link to="/e/$id" params={{ id: item.execution }} search={{ sel: `step:${item.step}` }}>
          {item.step} of {shortId(item.execution)}
        </Link>
      </dd>
    </dl>
  );
}

const DRAFT = { same: '', changed: 'changed', saved: 'draft saved', failed: 'the draft could not be saved' };

interface FilledProps {
  item: WorkItem;
  draft: ReturnType<typeof useDraft>;
  error: unknown;
}

function Filled({ item, draft, error }: FilledProps) {
  const form = item.body.spec.form;
  if (!form)
    return item.body.spec.proposal ? <Value value={item.body.spec.proposal} name="proposed" /> : null;
  return (
    <section aria-label="Form" className="stack tight">
      <Suspense fallback={<Skeleton lines={4} />}>
        <SchemaForm
          schema={form}
          data={draft.data}
          onChange={draft.change}
          readonly={!isOpen(item)}
          refused={error ? refusedAt(problemOf(error).body.detail) : null}
        />
      </Suspense>
    </section>
  );
}

/** What is to be said of the form: below the buttons, so that nothing moves under the hand that goes for one. */
function FormNotes({ item, draft }: { item: WorkItem; draft: ReturnType<typeof useDraft> }) {
  if (!item.body.spec.form || !isOpen(item)) return null;
  const changed = changedFields(item.body.spec.proposal, draft.data);
  return (
    <>
      {changed.length ? (
        <p className="muted data">differs from what was proposed: {changed.join(', ')}</p>
      ) : null}
      {DRAFT[draft.state] ? (
        <p className="muted" role="status">
          {item.holder ? DRAFT[draft.state] : 'not kept until you claim it or decide'}
        </p>
      ) : null}
    </>
  );
}

function Decided({ item }: { item: WorkItem }) {
  const { decision } = item.body;
  return (
    <section aria-label="Decision" className="stack tight">
      <h3>Decision</h3>
      {decision ? (
        <p>
          <strong className="data">{decision.action}</strong> by{' '}
          <span className="data">{decision.actor}</span>{' '}
          <span className="muted">
            <Time at={item.updated} />
          </span>
        </p>
      ) : (
        <p>
          Nobody decided: it is {item.state} since <Time at={item.updated} />.
        </p>
      )}
      {decision?.data === undefined || decision.data === null ? null : <Value value={decision.data} />}
    </section>
  );
}

function Comments({ item }: { item: WorkItem }) {
  if (!item.body.comments.length) return null;
  return (
    <section aria-label="Comments" className="stack tight">
      <h3>Comments</h3>
      {item.body.comments.map((one, n) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: comments are only ever added
        <Value key={n} value={one} />
      ))}
    </section>
  );
}
