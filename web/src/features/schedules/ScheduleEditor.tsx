import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type FormEvent, useRef, useState } from 'react';
import { CopyAs } from '../../acts/CopyAs';
import { offer } from '../../acts/gate';
import { SAVE_SCHEDULE, type ScheduleDraftView } from '../../acts/schedules';
import { useDoer } from '../../acts/useDoer';
import { basePath } from '../../api/client';
import { keys } from '../../api/keys';
import { AWAY } from '../../api/problems';
import { type Base, schedule, type TimesAhead } from '../../api/schedules';
import { Answer, Button, Copyable, ErrorBox, Skeleton, toast, useKeys, useRested } from '../../kit';
import { ConflictBox } from './ConflictBox';
import { documentOf, mistakes, type Refusal, refusalOf, type ScheduleForm, textOf, timesOf } from './form';
import { ScheduleFields } from './ScheduleFields';
import { save, useDraft } from './saving';
import css from './schedules.module.css';
import { Dues, From, useAhead } from './Times';

const UNREFUSED: Refusal = { fields: {}, rest: null };

/** A schedule that is kept, to be changed. */
export function EditSchedule({ name }: { name: string }) {
  const found = useQuery({
    queryKey: keys.schedule(name),
    queryFn: () => schedule(name),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
  return (
    <Answer of={found} lines={12}>
      {(first) => <ScheduleEditor name={name} first={first} />}
    </Answer>
  );
}

/** A schedule as a form, looked ahead with while it is typed. What was typed stays, whatever the server says to it. */
export function ScheduleEditor({ name, first }: { name: string; first: Base | null }) {
  const draft = useDraft(name, first);
  const { form, base } = draft;
  const [tried, setTried] = useState(false);
  const [refused, setRefused] = useState(UNREFUSED);
  const client = useQueryClient();
  const navigate = useNavigate();
  const ahead = useTimes(form);
  const text = textOf(documentOf(form, base?.document));
  const view = useView(form, text, base, draft.isChanged);
  const saved = useMutation({
    mutationFn: () => save(view, form),
    onSuccess: (done) => {
      if (!done.kept) return;
      draft.forget();
      toast('Saved', view.name);
      void client.invalidateQueries({ queryKey: keys.schedules });
      void navigate({ to: '/schedules', search: {} });
    },
    onError: (error) => setRefused(refusalOf(error, text)),
  });
  const lacks = mistakes(form);
  const saving = offer(SAVE_SCHEDULE, view, () => {
    setRefused(UNREFUSED);
    saved.mutate();
  });
  const send = () => {
    setTried(true);
    if (saved.isPending || Object.keys(lacks).length) return;
    saving.ask();
  };
  useKeys([{ keys: SAVE_SCHEDULE.keys, label: 'Save the schedule', run: send, always: true }]);
  const change = (field: keyof ScheduleForm, value: string | boolean) => {
    if (field === 'name') saved.reset(); // another name is another schedule
    draft.setForm((was) => ({ ...was, [field]: value }));
    setRefused(({ fields: { [field]: _, ...fields }, rest }) => ({ fields, rest }));
  };
  const lost = saved.data?.kept === false ? saved.data : null;
  const fields = useRef<HTMLFormElement>(null);
  /** The button that had the focus goes away: whoever goes on goes on in the form. */
  const toFields = () => fields.current?.querySelector<HTMLElement>('input')?.focus();
  return (
    <form
      ref={fields}
      className={css.editor}
      noValidate
      onSubmit={(event: FormEvent) => {
        event.preventDefault();
        send();
      }}
    >
      <div className={css.head}>
        <h1 className="data">{base ? form.name : 'New schedule'}</h1>
        {draft.isChanged ? <span>not saved yet</span> : null}
        <span className="grow" />
        <Button kind="main" type="submit" icon={SAVE_SCHEDULE.icon} why={saving.why} busy={saved.isPending}>
          {SAVE_SCHEDULE.label}
        </Button>
        <Link to="/schedules" search={{}}>
          All schedules
        </Link>
      </div>
      {saving.why && draft.isChanged ? <p role="note">It cannot be saved: {saving.why}.</p> : null}
      {draft.wasKept ? (
        <p className="row wrap" role="status">
          What you filled in and did not save is here again.
          <Button
            kind="quiet"
            onClick={() => {
              draft.forget();
              toFields();
            }}
          >
            Begin anew
          </Button>
        </p>
      ) : null}
      {lost ? (
        <ConflictBox
          was={base}
          theirs={lost.theirs}
          mine={form}
          onChosen={(next, on) => {
            draft.settle(next, on);
            saved.reset();
            toFields();
          }}
        />
      ) : null}
      {refused.rest ? <ErrorBox error={refused.rest} /> : null}
      <div className={css.sides}>
        <ScheduleFields
          form={form}
          wrong={{ ...ahead.wrong, ...refused.fields, ...(tried ? lacks : {}) }}
          isNew={base === null}
          steered={steered(base)}
          onChange={change}
        />
        <div className="stack">
          <Preview ahead={ahead} zone={form.timezone} />
          <section className="stack tight" aria-label="The same elsewhere">
            <h2>The same elsewhere</h2>
            <p className="muted">{SAVE_SCHEDULE.says(view)}</p>
            <Copyable text={text} label={`${view.name || 'the schedule'}.yaml`} />
            <CopyAs
              call={SAVE_SCHEDULE.call(view, {})}
              cli={SAVE_SCHEDULE.cli(view, {})}
              origin={`${location.origin}${basePath()}`}
            />
          </section>
        </div>
      </div>
    </form>
  );
}

/** What the act of saving is about: who saves what, in whose place. */
function useView(form: ScheduleForm, text: string, base: Base | null, changed: boolean): ScheduleDraftView {
  const doer = useDoer();
  const name = form.name.trim();
  return { name, text, changed, replaces: base?.digest ?? null, ...doer };
}

/** Whether it was paused or resumed by hand: then its text does not say what it is now. */
function steered(base: Base | null): 'paused' | 'resumed' | null {
  if (!base || base.paused === (base.document.paused === true)) return null;
  return base.paused ? 'paused' : 'resumed';
}

interface Times {
  from: string;
  setFrom: (value: string) => void;
  found: TimesAhead | undefined;
  isPending: boolean;
  wrong: Refusal['fields'];
  /** What is wrong with the day that it is looked ahead from. */
  unread: unknown;
  away: boolean;
}

/** When the form would be due, asked a moment after typing ends. */
function useTimes(form: ScheduleForm): Times {
  const [from, setFrom] = useState('');
  const text = timesOf(form);
  const rested = useRested({ text, from });
  const asked = useAhead({ text: rested.text }, rested.from);
  const { fields, rest } = asked.isError ? refusalOf(asked.error, rested.text) : UNREFUSED;
  const away = rest?.code === AWAY;
  return {
    from,
    setFrom,
    found: asked.data,
    isPending: asked.isPending,
    wrong: text === rested.text ? fields : {}, // what is being typed is not judged by what stood there before
    unread: away ? null : rest,
    away,
  };
}

function Preview({ ahead, zone }: { ahead: Times; zone: string }) {
  return (
    <section className="stack tight" aria-label="When it is due">
      <h2>When it is due</h2>
      {ahead.found ? (
        <p role="status">
          {ahead.found.words}, by the clocks of <span className="data">{zone.trim() || 'UTC'}</span>
        </p>
      ) : null}
      <div className={css.from}>
        <From value={ahead.from} onChange={ahead.setFrom} error={ahead.unread} />
      </div>
      {ahead.isPending ? <Skeleton lines={5} /> : null}
      {ahead.found ? <Dues dues={ahead.found.next} label="The next times" tall /> : null}
      {ahead.away ? <p className="muted">The times are shown again when the server answers.</p> : null}
      {Object.keys(ahead.wrong).length ? (
        <p className="muted">The times are shown once what is marked can be read.</p>
      ) : null}
    </section>
  );
}
