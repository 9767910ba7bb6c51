import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { Radio } from 'lucide-react';
import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { ActView, Form } from '../../acts/act';
import { asCli } from '../../acts/copy';
import { offer } from '../../acts/gate';
import { ACTS, actOf } from '../../acts/registry';
import { useDoer } from '../../acts/useDoer';
import { graph as fetchGraph, rangeOf } from '../../api/calls';
import { API, basePath } from '../../api/client';
import { keys } from '../../api/keys';
import { problemOf } from '../../api/problems';
import type { Execution, Verified } from '../../api/shapes';
import {
  Answer,
  Button,
  copy,
  Empty,
  ErrorBox,
  type KeyBinding,
  millis,
  toast,
  useKeys,
  type ValueSource,
  ValuesFrom,
} from '../../kit';
import { type Command, useCommands } from '../../kit/commands';
import { usePaced } from '../../kit/usePaced';
import { readSel, type Sel, writeSel } from '../../story/sel';
import { firstSel, stepOfSel } from '../../story/select';
import { StoryStore } from '../../story/store';
import { keysOfStory } from '../../viewer/keys';
import { byStep } from '../../viewer/looks';
import { Scrubber } from '../../viewer/Scrubber';
import { useChild, useOpenChild } from './child';
import css from './execution.module.css';
import { Header } from './Header';
import { nextRecord } from './nextRecord';
import { Panes } from './Panes';
import { type ExecutionSearch, PANES } from './search';
import { useExplanation } from './side/ExplainTab';
import { useRunHeld } from './useRunHeld';
import { ASK_MS, useShown, useStory } from './useStory';
import { useWrites } from './useWrites';
import type { View } from './view';

const ActDialog = lazy(() => import('../../acts/ExecutionActDialog'));
const route = getRouteApi('/inside/e/$id');

/** One execution: what happened, what happens now, why it waits, what can be done. */
export function Page() {
  const { id } = route.useParams();
  const told = useStory(id, route.useSearch().at);
  if (told.gone) return <Empty title="This execution was removed" />;
  return (
    <Answer of={told.whole} lines={14}>
      {(head) => <Shown key={id} id={id} head={head} story={told.story} edition={told.edition} />}
    </Answer>
  );
}

/** Where the large values of an execution are. */
function valuesOf(id: string): ValueSource {
  return {
    fetch: (key, pointer, offset) => rangeOf(id, key, pointer, offset),
    href: (key) => `${basePath()}${API}/executions/${encodeURIComponent(id)}/objects/${key}`,
  };
}

interface ShownProps {
  id: string;
  head: Execution;
  story: StoryStore;
  edition: number;
}

function Shown({ id, head, story, edition }: ShownProps) {
  const search = route.useSearch();
  const navigate = useNavigate({ from: '/e/$id' });
  const client = useQueryClient();
  const lens = search.lens ?? 'step';
  const graph = useQuery({
    queryKey: keys.graph(head.digest, lens),
    queryFn: () => fetchGraph(head.digest, lens),
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: (was) => was,
  });
  const live = search.at === undefined;
  const asked = live ? story.version : Math.min(search.at ?? 1, story.version);
  const seq = useShown(story, edition, asked);
  const latest = usePaced(story.version, ASK_MS);
  const explanation = useExplanation({ id, live, seq }, latest);
  const waiting = useMemo(() => byStep(explanation.data?.waiting ?? []), [explanation.data]);
  const go = useCallback(
    (change: Partial<ExecutionSearch>, replace = false) =>
      void navigate({ to: '/e/$id', params: { id }, search: (was) => ({ ...was, ...change }), replace }),
    [navigate, id],
  );
  const sel = useMemo(() => readSel(search.sel), [search.sel]);
  const child = useChild(search.child, story, seq, live);
  const openChild = useOpenChild(id, seq, search, go);
  const visitChild = (step: string) => {
    if (child) void navigate({ to: '/e/$id', params: { id: child.id }, search: { sel: `step:${step}` } });
  };
  /** Whether somebody, or we, have selected anything yet. */
  const opened = useRef(false);
  const past = useRef<{ list: (string | undefined)[]; at: number }>({ list: [], at: -1 });
  const select = useCallback(
    (next: Sel | null) => {
      opened.current = true;
      const text = next ? writeSel(next) : undefined;
      const kept = past.current.list.slice(0, past.current.at + 1);
      past.current = { list: [...kept, text], at: kept.length };
      go({ sel: text, ...(next && next.kind !== 'ctx' ? { tab: undefined } : {}) });
    },
    [go],
  );
  const walk = (by: number) => {
    const at = past.current.at + by;
    if (at < 0 || at >= past.current.list.length) return;
    past.current.at = at;
    go({ sel: past.current.list[at] });
  };
  useEffect(() => {
    if (opened.current || !explanation.data || search.sel) return;
    opened.current = true;
    const first = firstSel(story, explanation.data.waiting);
    if (first) go({ sel: writeSel(first) }, true);
  }, [explanation.data, story, search.sel, go]);

  useRunHeld(id, story, edition, sel);
  const source = useMemo(() => valuesOf(id), [id]);
  const step = stepOfSel(story, sel);
  const writes = useWrites(id, sel, latest);
  const doer = useDoer();
  const aboutStep = (which: string | null): ActView => {
    const facts = which ? story.stepAt(story.version, which) : null;
    const stepActive = facts !== null && (facts.active > 0 || facts.ready > 0);
    return { id, status: head.status, version: story.version, step: which, stepActive, seq, live, ...doer };
  };
  const [doing, setDoing] = useState<{ id: string; start?: Form } | null>(null);
  const [playing, setPlaying] = useState(false);
  const logInput = useRef<HTMLInputElement>(null);
  const offerOf = (which: string, start?: Form, of?: string) =>
    offer(actOf(which), aboutStep(of ?? step), () => {
      if (of && of !== step) select({ kind: 'step', step: of });
      setDoing({ id: which, start });
    });
  const latestOffer = useRef(offerOf);
  latestOffer.current = offerOf;
  const view: View = {
    id,
    head,
    story,
    edition,
    graph: graph.data,
    seq,
    live,
    latest,
    sel,
    step,
    waiting,
    writes,
    search,
    go,
    select,
    offer: offerOf,
    child,
    openChild,
    visitChild,
  };

  const scrub = useCallback((at: number | undefined) => go({ at }, true), [go]);
  const to = (next: number | null) => {
    if (next !== null) scrub(next >= story.version ? undefined : Math.max(1, next));
  };
  const toggle = () => {
    if (!playing && seq >= story.version) scrub(1);
    setPlaying(!playing);
  };
  const jump = (among: Sel | null | 'marked', direction: 1 | -1) => {
    if (among === sel && writes)
      to(
        StoryStore.next(
          writes.map((one) => one.seq),
          seq,
          direction,
        ),
      );
    else
      void nextRecord(id, story, among, seq, direction).then(to, (problem: unknown) =>
        toast('It could not be looked up', problemOf(problem).message, 'failed'),
      );
  };
  const focus = (n: number) => {
    const pane = PANES[n];
    if (!pane) return;
    const box = document.querySelector<HTMLElement>(`[data-pane="${pane}"]`);
    const inside = box?.contains(document.activeElement);
    if (search.focus || inside) go({ focus: search.focus === pane ? undefined : pane });
    else box?.querySelector<HTMLElement>('[tabindex="0"]')?.focus();
  };
  const list: KeyBinding[] = [
    ...keysOfStory({ seq, sel, to, jump, toggle }),
    { keys: 'l', label: 'Live', run: () => go({ at: undefined }) },
    ...PANES.map((pane, n) => ({
      keys: String(n + 1),
      label: `To the ${pane}; again: it alone`,
      run: () => focus(n),
    })),
    { keys: 'n', label: 'Steps or net', run: () => go({ lens: search.lens ? undefined : 'net' }) },
    { keys: 't', label: 'Graph or table', run: () => go({ table: search.table ? undefined : 'yes' }) },
    { keys: 'e', label: 'Explain', run: () => go({ tab: 'explain' }) },
    { keys: '/', label: 'Filter the log', run: () => logInput.current?.focus() },
    { keys: '[', label: 'Selection before', run: () => walk(-1) },
    { keys: ']', label: 'Selection after', run: () => walk(1) },
    { keys: 'y', label: 'Copy the link', run: () => void copy(location.href) },
    {
      keys: 'Escape',
      label: 'Select nothing',
      run: () => (search.focus ? go({ focus: undefined }) : select(null)),
    },
    ...ACTS.map((one) => offerOf(one.id).key),
  ];
  useKeys(list);
  const commands = useMemo<Command[]>(
    () => [
      // asked when it is run, not when the palette was filled
      ...ACTS.map(
        (one): Command => ({
          ...latestOffer.current(one.id).command,
          run: () => latestOffer.current(one.id).ask(),
        }),
      ),
      ...(graph.data?.nodes ?? [])
        .filter((node) => node.step && graph.data?.lens === 'step')
        .map(
          (node): Command => ({
            id: `step ${node.id}`,
            label: node.id,
            group: 'Steps',
            run: () => select({ kind: 'step', step: node.id }),
          }),
        ),
    ],
    [graph.data, select],
  );
  useCommands(commands);

  const done = (answer: unknown) => {
    void client.invalidateQueries({ queryKey: keys.execution(id) });
    const chosen = doing ? actOf(doing.id) : null;
    if (chosen?.id === 'verify') {
      const found = answer as Verified;
      if (found.ok) toast('The log is as it was written', `${found.records} records`);
      else {
        toast(
          'The log was changed',
          found.bad ? `record ${found.bad.seq}: ${found.bad.reason}` : '',
          'failed',
        );
        if (found.bad) select({ kind: 'rec', seq: found.bad.seq });
      }
    } else if (chosen?.makes) {
      void navigate({ to: '/e/$id', params: { id: (answer as Execution).id } });
    }
  };
  return (
    <ValuesFrom value={source}>
      <Header view={view} onCopy={() => void copy(asCli(['get', id]))} />
      <Scrubber
        story={story}
        edition={edition}
        seq={seq}
        onAt={scrub}
        playing={playing}
        setPlaying={setPlaying}
        time={story.version ? millis(story.timeOf(seq)) : ''}
        isTime={search.scale === 'time'}
        onScale={(isTime) => go({ scale: isTime ? 'time' : undefined })}
        isLive={live}
      >
        <Button
          icon={Radio}
          pressed={live}
          onClick={() => go({ at: undefined })}
          title="Follow the present (l)"
        >
          Live
        </Button>
      </Scrubber>
      {live ? null : (
        <div className={css.past} role="status">
          <span>
            As it was at record <b>{seq}</b>
          </span>
          <Button onClick={() => go({ at: undefined })}>Back to live</Button>
          <Button {...offerOf('fork').button}>Fork here…</Button>
        </div>
      )}
      {graph.isError ? <ErrorBox error={graph.error} retry={() => void graph.refetch()} /> : null}
      <Panes view={view} logInput={logInput} />
      <Suspense fallback={null}>
        {doing ? (
          <ActDialog
            act={actOf(doing.id)}
            view={aboutStep(step)}
            start={doing.start}
            onClose={() => setDoing(null)}
            onDone={done}
          />
        ) : null}
      </Suspense>
    </ValuesFrom>
  );
}
