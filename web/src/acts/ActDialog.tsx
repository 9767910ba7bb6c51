import { useQuery } from '@tanstack/react-query';
import { type ComponentProps, useState } from 'react';
import { basePath, type Call, carryOut, onceKey } from '../api/client';
import { usersNamed } from '../api/items';
import { problemOf } from '../api/problems';
import { Button, Choice, Dialog, ErrorBox, Skeleton, TextArea, TextField, toast, useRested } from '../kit';
import { type Act, type Doer, type Field, type Form, hindrance, mistakes, named, startForm } from './act';
import { CopyAs } from './CopyAs';
import { sent } from './gate';
import { type Preview, trial } from './trying';
import { useDoer } from './useDoer';

interface Props<V extends Doer> {
  act: Act<V>;
  view: V;
  /** What the form begins with, where more is known than the act knows. */
  start?: Form;
  title?: string;
  onClose: () => void;
  onDone: (answer: unknown) => void;
}

/** The call of what is filled in; null while it cannot be put together. */
export function callOf<V extends Doer>(
  act: Act<V>,
  view: V,
  form: Form,
): { call: Call; cli: string[] } | null {
  try {
    return { call: act.call(view, form), cli: act.cli(view, form) };
  } catch {
    return null; // what was typed is no JSON yet
  }
}

/** One act: what will happen, what it needs, and how to do the same elsewhere. */
export function ActDialog<V extends Doer>({ act, view: begun, start, title, onClose, onDone }: Props<V>) {
  const view = { ...begun, ...useDoer() }; // who may, and whether the server is there, as it is now
  const [form, setForm] = useState<Form>(() => ({ ...startForm(act, view), ...start }));
  const [tried, setTried] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [key] = useState(onceKey);
  const wrong = mistakes(act, form);
  const made = callOf(act, view, form);
  const why = hindrance(act, view);
  const send = async () => {
    setTried(true);
    if (why || Object.keys(wrong).length || !made) return;
    if (act.saves) {
      save(made.call, act.saves(view, form));
      onClose();
      return;
    }
    setBusy(true);
    try {
      const answer = await sent(act, view, form, act.id === 'verify' ? null : key);
      toast(`${named(act)}: done`);
      onDone(answer);
      onClose();
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return (
    <Dialog title={title ?? act.label} onClose={onClose}>
      <form
        noValidate
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <p className="data">{act.says(view)}</p>
        {act.fields.map((field, n) => (
          <FieldInput
            key={field.name}
            field={field}
            first={n === 0}
            value={form[field.name] ?? ''}
            error={tried ? wrong[field.name] : undefined}
            onChange={(value) => setForm((was) => ({ ...was, [field.name]: value }))}
          />
        ))}
        {act.tried && made ? <Previewed act={act} call={made.call} wrong={wrong} /> : null}
        {error ? <ErrorBox error={error} /> : null}
        <div className="row">
          <Button kind={act.danger ? 'danger' : 'main'} type="submit" busy={busy} why={why} icon={act.icon}>
            {act.label}
          </Button>
          <Button onClick={onClose}>Leave it</Button>
        </div>
        {made ? <CopyAs call={made.call} cli={made.cli} origin={`${location.origin}${basePath()}`} /> : null}
      </form>
    </Dialog>
  );
}

/** Have the browser save an answer, which may be larger than what a page should hold. */
function save(call: Call, name: string): void {
  const link = document.createElement('a');
  link.href = `${basePath()}${call.path}`;
  link.download = name;
  link.click();
}

interface PreviewedProps<V extends Doer> {
  act: Act<V>;
  call: Call;
  wrong: Record<string, string>;
}

/** What it would lead to, asked of the server a moment after typing ends. A reason that lacks changes nothing of that. */
function Previewed<V extends Doer>({ act, call, wrong }: PreviewedProps<V>) {
  const rested = useRested(call);
  const lacks = Object.keys(wrong).some((name) => name !== 'reason');
  const found = useQuery({
    queryKey: ['tried', rested],
    queryFn: async () => act.tried?.(await carryOut(trial(rested))) ?? null,
    enabled: !lacks,
    gcTime: 0,
    staleTime: 0,
    retry: false,
    placeholderData: (before) => before,
  });
  if (lacks) return null;
  if (found.isError) return <p className="muted data">What it leads to: {problemOf(found.error).message}</p>;
  return <Foreseen preview={found.data ?? null} />;
}

export function Foreseen({ preview }: { preview: Preview | null }) {
  return (
    <div role="status" data-testid="preview" className="stack tight">
      {preview ? <p className="data">{preview.sentence}</p> : <Skeleton lines={1} />}
      {preview?.kept.length ? <p className="muted data">kept: {preview.kept.join(', ')}</p> : null}
      {preview?.again.length ? <p className="muted data">again: {preview.again.join(', ')}</p> : null}
    </div>
  );
}

interface InputProps {
  field: Omit<Field, 'start'>;
  first: boolean;
  value: string;
  error: string | undefined;
  onChange: (value: string) => void;
}

function FieldInput({ field, first, value, error, onChange }: InputProps) {
  const label = field.label;
  if (field.kind === 'choice') {
    return <Choice label={label} value={value} onChange={onChange} options={field.options ?? []} />;
  }
  const shared = {
    label,
    value,
    onChange,
    error,
    required: field.needed,
    autoFocus: first,
    name: field.name,
  };
  if (field.kind === 'user') return <UserInput {...shared} />;
  return field.kind === 'json' ? <TextArea {...shared} mono rows={4} /> : <TextField {...shared} />;
}

/** Somebody by name: those that are known to have such a name are offered, anybody may be typed. */
function UserInput(props: ComponentProps<typeof TextField>) {
  const asked = useRested(props.value.trim());
  const found = useQuery({
    queryKey: ['users', 'named', asked],
    queryFn: () => usersNamed(asked),
    enabled: asked !== '',
    retry: false,
    placeholderData: (before) => before,
  });
  return (
    <>
      <TextField {...props} list="people" />
      <datalist id="people">
        {(found.data ?? []).map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  );
}
