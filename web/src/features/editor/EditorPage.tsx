import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { FilePlus2, Play } from 'lucide-react';
import { useCallback, useEffect, useRef, useState } from 'react';
import { asCli } from '../../acts/copy';
import { offer, sent } from '../../acts/gate';
import { APPLY, type ApplyView } from '../../acts/playbooks';
import { StartTextDialog, type Taken } from '../../acts/starting/StartDialog';
import { useDoer } from '../../acts/useDoer';
import { useApplied } from '../../api/applied';
import { current } from '../../api/authoring';
import { keys } from '../../api/keys';
import { problemOf } from '../../api/problems';
import { Button, Copyable, ErrorBox, recalled, remember, Skeleton, toast, useKeys } from '../../kit';
import { type Base, ConflictPane } from './ConflictPane';
import { percentage } from './cases';
import { type Fix, hindered, mended, stepAt } from './diagnostics';
import css from './editor.module.css';
import { Outline } from './Outline';
import { Problems } from './Problems';
import { verdict } from './ProofPane';
import { Side } from './Side';
import type { EditorSearch } from './search';
import { startingText } from './starting';
import { type Place, TextPane } from './TextPane';
import { useCheck } from './useCheck';
import { type TestsKept, useTests } from './useTests';

const route = getRouteApi('/inside/edit/$');

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
  // a text that is being written is not taken away because asking for it once more failed
  if (base.data) return <Editor key={path} path={path} base={base.data} />;
  if (base.isPending) return <Skeleton lines={20} />;
  const isMissing = base.isError && problemOf(base.error).code === 'not-found';
  if (isMissing && isNew) return <Editor key={path} path={path} base={NOTHING} />;
  return (
    <>
      <ErrorBox error={base.error} retry={() => void base.refetch()} />
      {isMissing ? <Anew path={path} /> : null}
    </>
  );
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
  const [place, setPlace] = useState<Place | undefined>(search.line ? { line: search.line } : undefined);
  const setLine = useCallback((line: number | undefined) => setPlace(line ? { line } : undefined), []);
  const [cursor, setCursor] = useState(1);
  const [starts, setStarts] = useState(false);
  const { checked, isOld, error } = useCheck(text);
  const tests = useTests(path, text);
  const doer = useDoer();
  const changed = text !== base.text;
  const kept = useRef(draft);
  kept.current = draft;
  useEffect(() => remember(kept.current, changed ? text : ''), [text, changed]);
  const applied = useMutation({
    mutationFn: () => sent<{ digest: string }, ApplyView>(APPLY, view, {}, null),
    onSuccess: ({ digest }) => {
      remember(kept.current, '');
      setBase({ text, tag: `"${digest}"` });
      toast('Applied', path);
      tests.run();
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
  const applying = offer(APPLY, view, () => applied.mutate());
  const why = applying.why;
  const send = () => {
    const first = problems.find((one) => one.severity === 'error');
    if (first) setLine(first.line);
    else if (unfit) tests.run();
    else applying.ask();
  };
  useKeys([
    { keys: APPLY.keys, label: 'Apply, or go to the first problem', run: send, always: true },
    { keys: 'Mod+Enter', label: 'Run the tests', run: tests.run, always: true },
  ]);
  const body = useRef<HTMLDivElement>(null);
  const write = () => body.current?.querySelector<HTMLElement>('.cm-content')?.focus();
  const drop = () => {
    setText(begun);
    write(); // the button that had the focus goes away
  };
  const goTo = (line: number) => {
    setLine(line);
    write();
  };
  const outline = checked?.outline ?? [];
  const here = stepAt(outline, cursor);
  const fix = (change: Fix) => setText(mended(text, change));
  const isStale = applied.isError && problemOf(applied.error).code === 'stale';
  const [newer, setNewer] = useState<'told' | 'shown' | null>(null);
  const settle = (next: string, theirs: Base) => {
    setBase(theirs);
    setText(next);
    setNewer(null);
    client.removeQueries({ queryKey: keys.source(path) });
    applied.reset();
  };
  const latest = useRef({ changed, base });
  latest.current = { changed, base };
  const follow = async () => {
    const theirs = await current(path);
    const { changed, base } = latest.current; // as it is now: somebody may have typed meanwhile
    if (theirs.tag === base.tag || theirs.tag === null) return;
    if (base.tag === null || changed) return setNewer((was) => was ?? 'told');
    settle(theirs.text, theirs);
    toast('It was applied anew', 'this is the text of now');
  };
  useApplied((now) => {
    const isOurs = applied.isPending || (now !== null && `"${now.digest}"` === base.tag);
    const isAbout = now === null || now.path === path;
    if (isAbout && !isOurs) void follow().catch(() => undefined); // asked again by whoever applies
  });
  return (
    <>
      <div className={css.top}>
        <h1 className="data">{path}</h1>
        {changed ? <span>{base.tag === null ? 'new' : 'changed'}</span> : null}
        <span data-verdict={checked?.soundness?.verdict} className={css.verdict} role="status">
          {checked ? verdict(checked.soundness) : 'checking…'}
        </span>
        {newer === 'told' ? (
          <button
            type="button"
            className={css.verdict}
            data-verdict="undecided"
            onClick={() => setNewer('shown')}
          >
            applied by somebody else meanwhile
          </button>
        ) : null}
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
      {isStale || newer === 'shown' ? (
        <ConflictPane path={path} base={base} mine={text} onChosen={settle} />
      ) : null}
      {applied.isError && !isStale ? <ErrorBox error={applied.error} /> : null}
      {error ? <ErrorBox error={error} /> : null}
      <div className={css.body} ref={body}>
        <Outline steps={outline} here={here} onLine={goTo} />
        <TextPane
          text={text}
          problems={problems}
          place={place}
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
          isOld={isOld}
          tests={tests}
          here={here}
          onLine={setLine}
          onFix={fix}
        />
      </div>
      <Problems found={problems} onLine={setLine} onFix={fix} />
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
