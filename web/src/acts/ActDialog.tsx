import { useState } from 'react';
import { basePath, type Call, carryOut, onceKey } from '../api/client';
import { Button, Choice, Dialog, ErrorBox, TextArea, TextField, toast } from '../kit';
import { CopyAs } from './CopyAs';
import { type Act, type Doer, type Field, type Form, mistakes, startForm } from './registry';

interface Props<V extends Doer> {
  act: Act<V>;
  view: V;
  /** What the form begins with, where more is known than the act knows. */
  start?: Form;
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
export function ActDialog<V extends Doer>({ act, view, start, onClose, onDone }: Props<V>) {
  const [form, setForm] = useState<Form>(() => ({ ...startForm(act, view), ...start }));
  const [tried, setTried] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [key] = useState(onceKey);
  const wrong = mistakes(act, form);
  const made = callOf(act, view, form);
  const send = async () => {
    setTried(true);
    if (Object.keys(wrong).length || !made) return;
    setBusy(true);
    try {
      const headers = { ...made.call.headers, 'Idempotency-Key': key };
      const answer = await carryOut(act.id === 'verify' ? made.call : { ...made.call, headers });
      toast(`${act.label}: done`);
      onDone(answer);
      onClose();
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return (
    <Dialog title={act.label} onClose={onClose}>
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
        {error ? <ErrorBox error={error} /> : null}
        <div className="row">
          <Button kind={act.danger ? 'danger' : 'main'} type="submit" busy={busy} icon={act.icon}>
            {act.label}
          </Button>
          <Button onClick={onClose}>Leave it</Button>
        </div>
        {made ? <CopyAs call={made.call} cli={made.cli} origin={`${location.origin}${basePath()}`} /> : null}
      </form>
    </Dialog>
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
  return field.kind === 'json' ? <TextArea {...shared} mono rows={4} /> : <TextField {...shared} />;
}
