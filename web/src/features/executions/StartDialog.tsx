import { useQuery } from '@tanstack/react-query';
import { Play } from 'lucide-react';
import { useEffect, useState } from 'react';
import { CopyAs } from '../../acts/CopyAs';
import { basePath, type Call, carryOut, client, onceKey, shaped } from '../../api/client';
import { keys } from '../../api/keys';
import type { Execution, Json, Page } from '../../api/shapes';
import {
  Button,
  Check,
  Choice,
  Dialog,
  Empty,
  ErrorBox,
  Segmented,
  Skeleton,
  TextArea,
  TextField,
} from '../../kit';
import css from './executions.module.css';
import { defaultsOf, merged, type Values, workloadOf } from './workload';

interface PlaybookItem {
  path: string;
  name: string;
  version: string;
  digest: string;
}

interface Props {
  onClose: () => void;
  onStarted: (id: string) => void;
  path?: string;
  workload?: Values;
}

/** Start an applied playbook: its workload as fields or as JSON, and the line that does the same. */
export function StartDialog(props: Props) {
  const list = useQuery({
    queryKey: keys.playbooks,
    queryFn: () =>
      shaped<Page<PlaybookItem>>(client.GET('/api/v1/playbooks', { params: { query: { limit: 500 } } })),
  });
  const items = list.data?.items ?? [];
  return (
    <Dialog title="Start an execution" onClose={props.onClose} size="lg">
      {list.isPending ? <Skeleton lines={4} /> : null}
      {list.isError ? <ErrorBox error={list.error} retry={() => void list.refetch()} /> : null}
      {list.isSuccess && items.length === 0 ? (
        <Empty title="No playbook is applied yet" command="petra apply hello.yaml">
          <p>What is applied can be started from here.</p>
        </Empty>
      ) : null}
      {items[0] ? <StartForm {...props} items={items} first={props.path ?? items[0].path} /> : null}
    </Dialog>
  );
}

function useDefaults(path: string) {
  return useQuery({
    queryKey: ['playbook', path, 'text'],
    queryFn: () =>
      shaped<{ text: string }>(client.GET('/api/v1/playbooks/{path}', { params: { path: { path } } })),
  });
}

function StartForm(props: Props & { items: PlaybookItem[]; first: string }) {
  const [path, setPath] = useState(props.first);
  const [mode, setMode] = useState<'form' | 'json'>('form');
  const [text, setText] = useState('{}');
  const [label, setLabel] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [key] = useState(onceKey);
  const found = useDefaults(path);
  const defaults = found.data ? defaultsOf(found.data.text) : null;
  const source = found.data?.text;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another playbook has other fields
  useEffect(() => {
    if (defaults) setText(JSON.stringify(merged(defaults, props.workload ?? {}), null, 2));
  }, [source]);
  const workload = workloadOf(text);
  const labels = labelsOf(label);
  const body = { playbook: path, workload: workload ?? {}, labels };
  const call: Call = { method: 'POST', path: '/api/v1/executions', body };
  const cli = ['start', path, '--workload', JSON.stringify(workload ?? {})];
  for (const [name, value] of Object.entries(labels)) cli.push('--label', `${name}=${value}`);
  const send = async () => {
    if (!workload) return;
    setBusy(true);
    try {
      const made = await carryOut<Execution>({ ...call, headers: { 'Idempotency-Key': key } });
      props.onStarted(made.id);
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <Choice
        label="Playbook"
        value={path}
        onChange={setPath}
        options={props.items.map((one) => ({ value: one.path, label: `${one.path} ${one.version}` }))}
      />
      <Segmented
        label="Workload as"
        value={mode}
        onChange={setMode}
        options={[
          { value: 'form', label: 'Fields' },
          { value: 'json', label: 'JSON' },
        ]}
      />
      {mode === 'json' || !workload ? (
        <TextArea
          label="Workload"
          value={text}
          onChange={setText}
          mono
          rows={8}
          error={workload ? null : 'this is no JSON object'}
        />
      ) : (
        <Fields values={workload} onChange={(next) => setText(JSON.stringify(next, null, 2))} />
      )}
      <TextField label="Labels" placeholder="env=prod team=shop" value={label} onChange={setLabel} />
      {error ? <ErrorBox error={error} /> : null}
      <div className="row">
        <Button
          kind="main"
          type="submit"
          icon={Play}
          busy={busy}
          why={workload ? null : 'the workload is no JSON object'}
        >
          Start
        </Button>
        <Button onClick={props.onClose}>Leave it</Button>
      </div>
      <CopyAs call={call} cli={cli} origin={`${location.origin}${basePath()}`} />
    </form>
  );
}

function labelsOf(text: string): Record<string, string> {
  const pairs = text.split(/\s+/).filter((word) => word.includes('='));
  return Object.fromEntries(
    pairs.map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]),
  );
}

function Fields({ values, onChange }: { values: Values; onChange: (values: Values) => void }) {
  const names = Object.keys(values);
  if (!names.length) return <p className="muted">This playbook takes nothing.</p>;
  return (
    <div className={css.fields}>
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

function OneField({ name, value, onChange }: { name: string; value: Json; onChange: (value: Json) => void }) {
  if (typeof value === 'boolean') return <Check label={name} checked={value} onChange={onChange} />;
  if (typeof value === 'string') return <TextField label={name} value={value} onChange={onChange} />;
  return <JsonField name={name} value={value} onChange={onChange} />;
}

function JsonField({
  name,
  value,
  onChange,
}: {
  name: string;
  value: Json;
  onChange: (value: Json) => void;
}) {
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
