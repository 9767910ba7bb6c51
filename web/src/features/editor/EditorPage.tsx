import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { Upload } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { asCli } from '../../acts/copy';
import { apply, type Checked, check, current, type Finding } from '../../api/authoring';
import { keys } from '../../api/keys';
import { Button, Copyable, ErrorBox, recalled, remember, Skeleton, toast, useKeys } from '../../kit';
import { hindered } from './diagnostics';
import css from './editor.module.css';
import { ProofPane, verdict } from './ProofPane';
import { TextPane } from './TextPane';

const route = getRouteApi('/inside/edit/$');
const PAUSE_MS = 250;

/** A playbook as text, held against its rules while it is typed. */
export function Page() {
  const { _splat: path = '' } = route.useParams();
  const base = useQuery({
    queryKey: keys.source(path),
    queryFn: () => current(path),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  if (base.isPending) return <Skeleton lines={20} />;
  if (base.isError) return <ErrorBox error={base.error} retry={() => void base.refetch()} />;
  return <Editor key={path} path={path} base={base.data} />;
}

/** The answer to the latest text; older answers are dropped. */
function useCheck(text: string): { checked: Checked | null; error: unknown } {
  const [found, setFound] = useState<{ checked: Checked | null; error: unknown }>({
    checked: null,
    error: null,
  });
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(() => {
      check(text, stop.signal).then(
        (checked) => {
          // the last graph that could be drawn stays while the text does not read
          setFound((was) => ({
            checked: { ...checked, graph: checked.graph ?? was.checked?.graph ?? null },
            error: null,
          }));
        },
        (error: unknown) => {
          if (!stop.signal.aborted) setFound((was) => ({ ...was, error }));
        },
      );
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text]);
  return found;
}

function Editor({ path, base: first }: { path: string; base: { text: string; tag: string } }) {
  const search = route.useSearch();
  const client = useQueryClient();
  // what was applied from here is the base of what comes next: the server keeps it without its comments
  const [base, setBase] = useState(first);
  const draft = `draft.${path}.${base.tag}`;
  const [text, setText] = useState(() => recalled(draft) || base.text);
  const [line, setLine] = useState<number | undefined>(search.line);
  const [cursor, setCursor] = useState(1);
  const { checked, error } = useCheck(text);
  const changed = text !== base.text;
  const kept = useRef(draft);
  kept.current = draft;
  useEffect(() => remember(kept.current, changed ? text : ''), [text, changed]);
  const applied = useMutation({
    mutationFn: () => apply(path, text, base.tag),
    onSuccess: ({ digest }) => {
      remember(kept.current, '');
      setBase({ text, tag: `"${digest}"` });
      toast('Applied', path);
      client.removeQueries({ queryKey: keys.source(path) });
      void client.invalidateQueries({ queryKey: keys.playbook(path) });
    },
  });
  const problems = checked?.problems ?? [];
  const why = checked ? hindered(problems, changed) : 'it is being checked';
  const send = () => {
    const first = problems.find((one) => one.severity === 'error');
    if (first) setLine(first.line);
    else if (!why) applied.mutate();
  };
  useKeys([{ keys: 'Mod+s', label: 'Apply, or go to the first problem', run: send, always: true }]);
  const steps = checked?.graph?.nodes as { id: string; line?: number }[] | undefined;
  const here = stepAt(steps ?? [], cursor);
  return (
    <>
      <div className={css.top}>
        <h1 className="data">{path}</h1>
        {changed ? <span>changed</span> : null}
        <span data-verdict={checked?.soundness?.verdict} className={css.verdict} role="status">
          {checked ? verdict(checked.soundness) : 'checking…'}
        </span>
        <span className="grow" />
        {changed ? <Button onClick={() => setText(base.text)}>Drop my changes</Button> : null}
        <Button kind="main" icon={Upload} why={why} busy={applied.isPending} onClick={send}>
          {why && why !== 'nothing has changed' ? `Apply: ${why}` : 'Apply'}
        </Button>
        <Link to="/p/$" params={{ _splat: path }}>
          The playbook
        </Link>
      </div>
      {applied.isError ? <ErrorBox error={applied.error} /> : null}
      {error ? <ErrorBox error={error} /> : null}
      <div className={css.body}>
        <TextPane text={text} problems={problems} line={line} onChange={setText} onLine={setCursor} />
        {checked ? (
          <ProofPane
            checked={checked}
            selected={here}
            onSelect={(node) => setLine(node.line)}
            onLine={(next) => setLine(next)}
          />
        ) : (
          <Skeleton lines={8} />
        )}
      </div>
      <Problems found={problems} onLine={setLine} />
      <div className={css.line}>
        <Copyable text={asCli(['apply', `${path}.yaml`])} label="the command" />
      </div>
    </>
  );
}

/** The step that a line belongs to: the last that begins before it. */
export function stepAt(steps: readonly { id: string; line?: number }[], line: number): string | null {
  let best: { id: string; line: number } | null = null;
  for (const step of steps) {
    if (step.line === undefined || step.line > line) continue;
    if (!best || step.line > best.line) best = { id: step.id, line: step.line };
  }
  return best?.id ?? null;
}

function Problems({ found, onLine }: { found: readonly Finding[]; onLine: (line: number) => void }) {
  if (!found.length) return null;
  return (
    <ul className={css.problems} aria-label="Problems">
      {found.map((one) => (
        <li key={`${one.code} ${one.line} ${one.column} ${one.message}`} data-severity={one.severity}>
          <button type="button" onClick={() => onLine(one.line)}>
            <span className="mono">{one.line}</span> {one.severity} <strong>{one.code}</strong>{' '}
            <span className="data">{one.message}</span>
            {one.hint ? <span className="muted data"> {one.hint}</span> : null}
          </button>
        </li>
      ))}
    </ul>
  );
}
