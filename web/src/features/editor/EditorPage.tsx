import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { FilePlus2, Play } from 'lucide-react';
import { lazy, Suspense, useCallback, useEffect, useRef, useState } from 'react';
import { asCli } from '../../acts/copy';
import { APPLY, type ApplyView } from '../../acts/playbooks';
import { hindrance } from '../../acts/registry';
import { StartTextDialog, type Taken } from '../../acts/starting/StartDialog';
import { useDoer } from '../../acts/useDoer';
import { type Checked, current } from '../../api/authoring';
import { carryOut } from '../../api/client';
import { keys } from '../../api/keys';
import { problemOf } from '../../api/problems';
import type { Graph } from '../../api/shapes';
import { Button, Copyable, ErrorBox, recalled, remember, Skeleton, Tabs, toast, useKeys } from '../../kit';
import { type Base, ConflictPane } from './ConflictPane';
import { caseOfWay, percentage, withCase } from './cases';
import { hindered, mended, stepAt } from './diagnostics';
import css from './editor.module.css';
import { Problems } from './Problems';
import { ProofPane, verdict } from './ProofPane';
import { SimulatePane } from './SimulatePane';
import { type EditorSearch, PANELS, type Panel } from './search';
import { startingText } from './starting';
import { TestsPane } from './TestsPane';
import { TextPane } from './TextPane';
import { useCheck } from './useCheck';
import { type TestsKept, useTests } from './useTests';

const TextDiff = lazy(() => import('../../kit/TextDiff'));
const route = getRouteApi('/inside/edit/$');
const LABELS: Record<Panel, string> = {
  proof: 'Graph and proof',
  tests: 'Tests',
  simulate: 'Simulate',
  diff: 'Changes',
};

/** A playbook as text, held against its rules while it is typed. */
export function Page() {
  const { _splat: path = '' } = route.useParams();
  const isNew = route.useSearch({ select: (search) => search.new }) === 'yes';
  const base = useQuery({
    queryKey: keys.source(path),
    queryFn: () => current(path),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  if (base.isPending) return <Skeleton lines={20} />;
  const isMissing = base.isError && problemOf(base.error).code === 'not-found';
  if (isMissing && isNew) return <Editor key={path} path={path} base={NOTHING} />;
  if (base.isError) {
    return (
      <>
        <ErrorBox error={base.error} retry={() => void base.refetch()} />
        {isMissing ? <Anew path={path} /> : null}
      </>
    );
  }
  return <Editor key={path} path={path} base={base.data} />;
}

/** What a new playbook takes the place of. */
const NOTHING: Base = { text: '', tag: null };

function Anew({ path }: { path: string }) {
  const navigate = useNavigate();
  const write = () => void navigate({ to: '/edit/$', params: { _splat: path }, search: { new: 'yes' } });
  return (
    <div className={css.anew}>
      <Button icon={FilePlus2} onClick={write}>
        Write a new one here
      </Button>
    </div>
  );
}

function Editor({ path, base: first }: { path: string; base: Base }) {
  const search = route.useSearch();
  const client = useQueryClient();
  const navigate = useNavigate();
  // what was applied from here is the base of what comes next
  const [base, setBase] = useState(first);
  const draft = `draft.${path}.${base.tag}`;
  const begun = base.tag === null ? startingText(path) : base.text;
  const [text, setText] = useState(() => recalled(draft) || begun);
  const [line, setLine] = useState<number | undefined>(search.line);
  const [cursor, setCursor] = useState(1);
  const [starts, setStarts] = useState(false);
  const { checked, error } = useCheck(text);
  const tests = useTests(path, text);
  const doer = useDoer();
  const changed = text !== base.text;
  const kept = useRef(draft);
  kept.current = draft;
  useEffect(() => remember(kept.current, changed ? text : ''), [text, changed]);
  const applied = useMutation({
    mutationFn: () => carryOut<{ digest: string }>(APPLY.call(view, {})),
    onSuccess: ({ digest }) => {
      remember(kept.current, '');
      setBase({ text, tag: `"${digest}"` });
      toast('Applied', path);
      client.removeQueries({ queryKey: keys.source(path) });
      void client.invalidateQueries({ queryKey: keys.playbook(path) });
      void client.invalidateQueries({ queryKey: keys.playbooks });
    },
  });
  const go = useCallback(
    (next: Partial<EditorSearch>, replace = true) =>
      void navigate({ to: '.', search: (was: EditorSearch) => ({ ...was, ...next }), replace }),
    [navigate],
  );
  const problems = checked?.problems ?? [];
  const unfit = checked ? hindered(problems, changed) : 'it is being checked';
  const view: ApplyView = { path, text, replaces: base.tag, unfit, ...doer };
  const why = hindrance(APPLY, view);
  const send = () => {
    const first = problems.find((one) => one.severity === 'error');
    if (first) setLine(first.line);
    else if (!why) applied.mutate();
  };
  useKeys([
    { keys: APPLY.keys, label: 'Apply, or go to the first problem', run: send, always: true },
    { keys: 'Mod+Enter', label: 'Run the tests', run: tests.run, always: true },
  ]);
  const body = useRef<HTMLDivElement>(null);
  const drop = () => {
    setText(begun);
    body.current?.querySelector<HTMLElement>('.cm-content')?.focus(); // the button that had it goes away
  };
  const steps = checked?.graph?.nodes as { id: string; line?: number }[] | undefined;
  const isStale = applied.isError && problemOf(applied.error).code === 'stale';
  const settle = (next: string, theirs: Base) => {
    setBase(theirs);
    setText(next);
    client.removeQueries({ queryKey: keys.source(path) });
    applied.reset();
  };
  return (
    <>
      <div className={css.top}>
        <h1 className="data">{path}</h1>
        {changed ? <span>{base.tag === null ? 'new' : 'changed'}</span> : null}
        <span data-verdict={checked?.soundness?.verdict} className={css.verdict} role="status">
          {checked ? verdict(checked.soundness) : 'checking…'}
        </span>
        <TestsChip tests={tests} onOpen={() => go({ panel: 'tests' }, false)} />
        <span className="grow" />
        {text !== begun ? <Button onClick={drop}>Drop my changes</Button> : null}
        <Button kind="main" icon={APPLY.icon} why={why} busy={applied.isPending} onClick={send}>
          {why && why !== 'nothing has changed' ? `Apply: ${why}` : 'Apply'}
        </Button>
        <Button
          icon={Play}
          why={checked?.ok ? null : 'it does not read yet'}
          onClick={() => setStarts(true)}
          title="Start this text, without applying it"
        >
          Run…
        </Button>
        {base.tag === null ? null : (
          <Link to="/p/$" params={{ _splat: path }}>
            The playbook
          </Link>
        )}
      </div>
      {starts && checked ? (
        <StartTextDialog
          path={path}
          text={text}
          taken={checked as Taken}
          onClose={() => setStarts(false)}
          onStarted={(id) => void navigate({ to: '/e/$id', params: { id } })}
        />
      ) : null}
      {isStale ? <ConflictPane path={path} base={base} mine={text} onChosen={settle} /> : null}
      {applied.isError && !isStale ? <ErrorBox error={applied.error} /> : null}
      {error ? <ErrorBox error={error} /> : null}
      <div className={css.body} ref={body}>
        <TextPane
          text={text}
          problems={problems}
          line={line}
          onChange={setText}
          onLine={setCursor}
          completes
        />
        <Side
          path={path}
          search={search}
          go={go}
          base={base}
          text={text}
          checked={checked}
          tests={tests}
          here={stepAt(steps ?? [], cursor)}
          onLine={setLine}
        />
      </div>
      <Problems found={problems} onLine={setLine} onFix={(fix) => setText(mended(text, fix))} />
      <div className={css.line}>
        <Copyable text={asCli(APPLY.cli(view, {}))} label="the command" />
        <span className="muted">In a text, Tab indents; Esc and then Tab leaves it.</span>
      </div>
    </>
  );
}

function TestsChip({ tests, onOpen }: { tests: TestsKept; onOpen: () => void }) {
  const found = tests.tested;
  if (!found?.cases.length) return null;
  const cover = found.coverage ? ` · ${percentage(found.coverage)} % of arcs` : '';
  return (
    <button
      type="button"
      className={css.verdict}
      data-verdict={found.ok ? 'sound' : 'unsound'}
      onClick={onOpen}
    >
      tests {found.passed ?? 0}/{found.cases.length}
      {cover}
    </button>
  );
}

interface SideProps {
  path: string;
  search: EditorSearch;
  go: (next: Partial<EditorSearch>, replace?: boolean) => void;
  base: Base;
  text: string;
  checked: Checked | null;
  tests: TestsKept;
  here: string | null;
  onLine: (line: number | undefined) => void;
}

/** What is to be seen of the text: its graph and proof, its tests, a walk through it, what was changed. */
function Side({ path, search, go, base, text, checked, tests, here, onLine }: SideProps) {
  const panel = search.panel ?? 'proof';
  const graph = (checked?.graph ?? null) as Graph | null;
  const onAt = useCallback((at: number | undefined) => go({ at }), [go]);
  const shared = {
    at: search.at,
    onAt,
    selected: here,
    onSelect: (node: { line?: number }) => onLine(node.line),
  };
  const addCase = (added: string) => {
    tests.setText(withCase(tests.text, path, added));
    go({ panel: 'tests', case: undefined, at: undefined }, false);
  };
  return (
    <div className={css.side}>
      <Tabs
        label="What is to be seen of it"
        tabs={PANELS.map((id) => ({ id, label: LABELS[id] }))}
        value={panel}
        onChange={(next) => go({ panel: next, case: undefined, at: undefined }, false)}
        className={css.panel ?? ''}
      >
        {checked ? null : <Skeleton lines={8} />}
        {checked && panel === 'proof' ? (
          <ProofPane
            {...shared}
            checked={checked}
            onLine={onLine}
            onTest={() => addCase(caseOfWay(checked.soundness?.counterexample ?? [], graph))}
          />
        ) : null}
        {checked && panel === 'tests' ? (
          <TestsPane
            {...shared}
            path={path}
            text={tests.text}
            onText={tests.setText}
            graph={graph}
            tested={tests.tested}
            error={tests.error}
            busy={tests.busy}
            onRun={tests.run}
            shown={search.case}
            onShow={(name) => go({ case: name, at: undefined })}
          />
        ) : null}
        {checked && panel === 'simulate' ? (
          <SimulatePane {...shared} text={text} graph={graph} onTest={addCase} />
        ) : null}
        {panel === 'diff' ? (
          <Suspense fallback={<Skeleton lines={8} />}>
            <TextDiff before={base.text} after={text} label="What you changed" />
          </Suspense>
        ) : null}
      </Tabs>
    </div>
  );
}
