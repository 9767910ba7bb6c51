import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useEffect, useState } from 'react';
import { basePath, onceKey } from '../../api/client';
import { keys } from '../../api/keys';
import { problemOf } from '../../api/problems';
import { choices, playbook } from '../../api/running';
import type { Execution, Json } from '../../api/shapes';
import {
  Answer,
  Button,
  Check,
  Choice,
  Dialog,
  Empty,
  ErrorBox,
  recalled,
  remember,
  Segmented,
  Skeleton,
  TextArea,
  TextField,
} from '../../kit';
import { refusedAt } from '../../kit/refusal';
import { hindrance } from '../act';
import { CopyAs } from '../CopyAs';
import { sent } from '../gate';
import { useDoer } from '../useDoer';
import { START, type StartView } from './start';
import { draftOf, labelsOf, type Values, workloadOf } from './workload';

const SchemaForm = lazy(() => import('../../kit/SchemaForm'));

/** What a playbook is started with: its defaults, and what it demands. */
export interface Taken {
  workload: Values;
  input_schema: Values | null;
}

interface Props {
  onClose: () => void;
  onStarted: (id: string) => void;
  /** The playbook to begin with; the first one otherwise. */
  path?: string;
  /** What another execution was started with. */
  workload?: Values;
}

/** Start an applied playbook: its workload as fields or as JSON, and the line that does the same. */
export function StartDialog(props: Props) {
  const list = useQuery({ queryKey: keys.playbooks, queryFn: choices });
  const [chosen, setChosen] = useState<string | null>(props.path ?? null);
  return (
    <Dialog title="Start an execution" onClose={props.onClose} size="lg">
      <Answer of={list} lines={4}>
        {({ items }) => {
          const path = chosen ?? items[0]?.path;
          if (path === undefined) return <NothingApplied />;
          const options = items.map((one) => ({
            value: one.path,
            label: `${one.path} ${one.version}`.trim(),
          }));
          return (
            <div className="stack">
              <Choice label="Playbook" value={path} onChange={setChosen} options={options} />
              <AppliedForm key={path} {...props} path={path} />
            </div>
          );
        }}
      </Answer>
    </Dialog>
  );
}

function NothingApplied() {
  return (
    <Empty title="No playbook is applied yet" command="petra apply hello.yaml">
      <p>What is applied can be started from here.</p>
    </Empty>
  );
}

function AppliedForm(props: Props & { path: string }) {
  const found = useQuery({ queryKey: keys.playbook(props.path), queryFn: () => playbook(props.path) });
  return (
    <Answer of={found} lines={4}>
      {(taken) => <StartForm {...props} taken={taken as Taken} />}
    </Answer>
  );
}

interface TextProps extends Omit<Props, 'workload'> {
  path: string;
  text: string;
  taken: Taken;
}

/** Start a text as it stands, without applying it. */
export function StartTextDialog(props: TextProps) {
  return (
    <Dialog title="Start this text, without applying it" onClose={props.onClose} size="lg">
      <StartForm {...props} />
    </Dialog>
  );
}

interface FormProps extends Props {
  path: string;
  text?: string;
  taken: Taken;
}

/** What was filled in for a playbook is kept until it was sent. */
function useFilled({ path, taken, workload }: FormProps) {
  const name = `start.${path}`;
  const fresh = JSON.stringify({ ...taken.workload, ...workload }, null, 2);
  const [draft] = useState(() => (workload ? null : draftOf(recalled(name))));
  const [text, setText] = useState(draft?.text ?? fresh);
  const [label, setLabel] = useState(draft?.label ?? '');
  const isDraft = text !== fresh || label !== '';
  useEffect(() => {
    remember(name, isDraft ? JSON.stringify({ text, label }) : '');
  }, [name, isDraft, text, label]);
  const forget = () => {
    setText(fresh);
    setLabel('');
    remember(name, '');
  };
  return { text, setText, label, setLabel, forget, wasKept: draft !== null && isDraft };
}

function StartForm(props: FormProps) {
  const { path, taken } = props;
  const filled = useFilled(props);
  const [mode, setMode] = useState<'form' | 'json'>('form');
  const [wrong, setWrong] = useState(0);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [key] = useState(onceKey);
  const doer = useDoer();
  const view: StartView = {
    path,
    text: props.text,
    workload: workloadOf(filled.text),
    labels: labelsOf(filled.label),
    ...doer,
  };
  const call = START.call(view, {});
  const asForm = mode === 'form' && view.workload !== null;
  const unfit = asForm && wrong ? 'something above does not fit' : null;
  const why = hindrance(START, view) ?? unfit;
  const send = async () => {
    if (why) return;
    setBusy(true);
    setError(null);
    try {
      const made = await sent<Execution, StartView>(START, view, {}, key);
      remember(`start.${path}`, '');
      props.onStarted(made.id);
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  const change = (next: Json) => filled.setText(JSON.stringify(next, null, 2));
  return (
    <form
      className="stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <Segmented
        label="Workload as"
        value={mode}
        onChange={setMode}
        options={[
          { value: 'form', label: 'Fields' },
          { value: 'json', label: 'JSON' },
        ]}
      />
      {filled.wasKept ? (
        <p className="row" role="status">
          What you filled in last time is here again.
          <Button kind="quiet" onClick={filled.forget}>
            Begin anew
          </Button>
        </p>
      ) : null}
      {asForm && view.workload ? (
        <Filled taken={taken} values={view.workload} onChange={change} onWrong={setWrong} error={error} />
      ) : (
        <TextArea
          label="Workload"
          value={filled.text}
          onChange={filled.setText}
          mono
          rows={8}
          error={view.workload ? null : 'this is no JSON object'}
        />
      )}
      <TextField
        label="Labels"
        placeholder="env=prod team=shop"
        value={filled.label}
        onChange={filled.setLabel}
      />
      {error ? <ErrorBox error={error} /> : null}
      <div className="row">
        <Button kind="main" type="submit" icon={START.icon} busy={busy} why={why}>
          Start
        </Button>
        <Button onClick={props.onClose}>Leave it</Button>
      </div>
      <CopyAs call={call} cli={START.cli(view, {})} origin={`${location.origin}${basePath()}`} />
    </form>
  );
}

interface FilledProps {
  taken: Taken;
  values: Values;
  onChange: (values: Json) => void;
  onWrong: (number: number) => void;
  error: unknown;
}

function Filled({ taken, values, onChange, onWrong, error }: FilledProps) {
  if (!taken.input_schema) return <Fields values={values} onChange={onChange} />;
  return (
    <Suspense fallback={<Skeleton lines={4} />}>
      <SchemaForm
        schema={{ type: 'object', ...taken.input_schema }}
        data={values}
        onChange={onChange}
        onErrors={onWrong}
        refused={error ? refusedAt(problemOf(error).body.detail) : null}
      />
    </Suspense>
  );
}

/** Without a schema, the defaults say which fields there are. */
function Fields({ values, onChange }: { values: Values; onChange: (values: Json) => void }) {
  const names = Object.keys(values);
  if (!names.length) return <p className="muted">This playbook takes nothing.</p>;
  return (
    <div className="stack">
      {names.map((name) => (
        <OneField
          key={name}
          name={name}
          value={values[name] ?? null}
          onChange={(value) => onChange({ ...values, [name]: value })}
        />
      ))}
    </div>
  );
}

interface FieldProps {
  name: string;
  value: Json;
  onChange: (value: Json) => void;
}

function OneField({ name, value, onChange }: FieldProps) {
  if (typeof value === 'boolean') return <Check label={name} checked={value} onChange={onChange} />;
  if (typeof value === 'string') return <TextField label={name} value={value} onChange={onChange} />;
  return <JsonField name={name} value={value} onChange={onChange} />;
}

function JsonField({ name, value, onChange }: FieldProps) {
  const [text, setText] = useState(() => JSON.stringify(value));
  const [wrong, setWrong] = useState<string | null>(null);
  const change = (next: string) => {
    setText(next);
    try {
      onChange(JSON.parse(next) as Json);
      setWrong(null);
    } catch {
      setWrong('this is no JSON yet');
    }
  };
  return <TextField label={name} value={text} onChange={change} error={wrong} mono />;
}
