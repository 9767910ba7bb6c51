import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { ActDialog } from '../../acts/ActDialog';
import { asCli } from '../../acts/copy';
import { ACTS, type ActView, actOf, type Form, hindrance } from '../../acts/registry';
import { graph as fetchGraph, me, rangeOf } from '../../api/calls';
import { API, basePath } from '../../api/client';
import { connection } from '../../api/connection';
import { keys } from '../../api/keys';
import { problemOf } from '../../api/problems';
import type { Execution, Verified } from '../../api/shapes';
import {
  Button,
  copy,
  Empty,
  ErrorBox,
  type KeyBinding,
  Skeleton,
  toast,
  useKeys,
  type ValueSource,
  ValuesFrom,
} from '../../kit';
import { type Command, useCommands } from '../../kit/commands';
import { usePaced } from '../../kit/usePaced';
import { readSel, type Sel, writeSel } from '../../story/sel';
import { firstSel, stepOfSel } from '../../story/select';
import type { StoryStore } from '../../story/store';
import { useChild, useOpenChild } from './child';
import css from './execution.module.css';
import { Header } from './Header';
import { nextRecord } from './nextRecord';
import { Panes } from './Panes';
import { Scrubber } from './scrubber/Scrubber';
import { type ExecutionSearch, PANES } from './search';
import { useExplanation } from './side/ExplainTab';
import { useRunHeld } from './useRunHeld';
import { ASK_MS, useShown, useStory } from './useStory';
import type { View } from './view';

const route = getRouteApi('/inside/e/$id');

/** One execution: what happened, what happens now, why it waits, what can be done. */
export function Page() {
  const { id } = route.useParams();
  const told = useStory(id, route.useSearch().at);
  if (told.head.isError) return <ErrorBox error={told.head.error} retry={() => void told.head.refetch()} />;
  if (told.error) return <ErrorBox error={told.error} retry={() => location.reload()} />;
  if (told.gone) return <Empty title="This execution was removed" />;
  if (!told.head.data || !told.ready) return <Skeleton lines={14} />;
  return <Shown key={id} id={id} head={told.head.data} story={told.story} edition={told.edition} />;
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
  const line = useSyncExternalStore(connection.subscribe, connection.getLine);
  const who = useQuery({ queryKey: keys.me, queryFn: me });
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
  const waiting = useMemo(
    () => new Map((explanation.data?.waiting ?? []).map((one) => [one.step, one])),
    [explanation.data],
  );
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
  const facts = step ? story.stepAt(story.version, step) : null;
  const acts: ActView = {
    id,
    status: head.status,
    version: story.version,
    step,
    stepActive: facts !== null && (facts.active > 0 || facts.ready > 0),
    seq,
    live,
    may: who.data?.may ?? [],
    offline: line === 'offline',
  };
  const [doing, setDoing] = useState<{ id: string; start?: Form } | null>(null);
  const [playing, setPlaying] = useState(false);
  const logInput = useRef<HTMLInputElement>(null);
  const act = (which: string, start?: Form) => {
    const why = hindrance(actOf(which), acts);
    if (why) toast(`${actOf(which).label}: not now`, why, 'failed');
    else setDoing({ id: which, start });
  };
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
    search,
    go,
    select,
    act,
    acts,
    child,
    openChild,
    visitChild,
  };

  const to = (next: number | null) => {
    if (next !== null) go({ at: next >= story.version ? undefined : Math.max(1, next) }, true);
  };
  const jump = (among: Sel | null | 'marked', direction: 1 | -1) =>
    void nextRecord(id, story, among, seq, direction).then(to, (problem: unknown) =>
      toast('It could not be looked up', problemOf(problem).message, 'failed'),
    );
  const focus = (n: number) => {
    const pane = PANES[n];
    if (!pane) return;
    const box = document.querySelector<HTMLElement>(`[data-pane="${pane}"]`);
    const inside = box?.contains(document.activeElement);
    if (search.focus || inside) go({ focus: search.focus === pane ? undefined : pane });
    else box?.querySelector<HTMLElement>('[tabindex="0"]')?.focus();
  };
  const list: KeyBinding[] = [
    { keys: 'ArrowLeft', label: 'Record before', run: () => to(seq - 1) },
    { keys: 'ArrowRight', label: 'Next record', run: () => to(seq + 1) },
    {
      keys: 'Shift+ArrowLeft',
      label: 'Record of the selection before',
      run: () => jump(sel, -1),
    },
    {
      keys: 'Shift+ArrowRight',
      label: 'Next record of the selection',
      run: () => jump(sel, 1),
    },
    { keys: 'Alt+ArrowLeft', label: 'Mark before', run: () => jump('marked', -1) },
    { keys: 'Alt+ArrowRight', label: 'Next mark', run: () => jump('marked', 1) },
    { keys: 'Space', label: 'Play or stop', run: () => setPlaying(!playing) },
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
    ...ACTS.map((one) => ({ keys: one.keys, label: one.label, run: () => act(one.id) })),
  ];
  useKeys(list);
  const commands = useMemo<Command[]>(
    () => [
      ...ACTS.map(
        (one): Command => ({
          id: one.id,
          label: one.label,
          group: 'Acts',
          run: () => setDoing({ id: one.id }),
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
      <Scrubber view={view} playing={playing} setPlaying={setPlaying} />
      {live ? null : (
        <div className={css.past} role="status">
          <span>
            As it was at record <b>{seq}</b>
          </span>
          <Button onClick={() => go({ at: undefined })}>Back to live</Button>
          <Button onClick={() => act('fork')}>Fork here…</Button>
        </div>
      )}
      {graph.isError ? <ErrorBox error={graph.error} retry={() => void graph.refetch()} /> : null}
      <Panes view={view} logInput={logInput} />
      {doing ? (
        <ActDialog
          act={actOf(doing.id)}
          view={acts}
          start={doing.start}
          onClose={() => setDoing(null)}
          onDone={done}
        />
      ) : null}
    </ValuesFrom>
  );
}
