import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { Play, Terminal } from 'lucide-react';
import { useState } from 'react';
import { asCli } from '../../acts/copy';
import { StartDialog } from '../../acts/starting/StartDialog';
import { START } from '../../acts/starting/start';
import { useApplied } from '../../api/applied';
import { unsigned } from '../../api/authoring';
import { definition, graph } from '../../api/calls';
import { keys } from '../../api/keys';
import { heat, type Playbook, playbook } from '../../api/running';
import type { GraphArc } from '../../api/shapes';
import { Answer, Button, copy, Drawing, Empty, number, Tabs, useKeys } from '../../kit';
import { arcShare, factOf } from './heat';
import { Outcomes } from './Outcomes';
import css from './playbooks.module.css';
import { RunsTab } from './RunsTab';
import { SchedulesTab } from './SchedulesTab';
import { useStanding, Verdict } from './Standing';
import { type PlaybookTab, TABS } from './search';
import { VersionsTab } from './VersionsTab';

const route = getRouteApi('/inside/p/$');
const LABELS: Record<PlaybookTab, string> = {
  graph: 'Graph',
  source: 'Source',
  versions: 'Versions',
  executions: 'Executions',
  tests: 'Tests',
  schedules: 'Schedules',
};

/** One playbook: how it goes, how it went, and how it changed. */
export function Page() {
  const { _splat: path = '' } = route.useParams();
  useApplied();
  const found = useQuery({ queryKey: keys.playbook(path), queryFn: () => playbook(path) });
  return (
    <Answer of={found} lines={10}>
      {(told) => <Shown path={path} told={told} />}
    </Answer>
  );
}

function Shown({ path, told }: { path: string; told: Playbook }) {
  const search = route.useSearch();
  const navigate = useNavigate();
  const [starts, setStarts] = useState(false);
  useKeys([{ keys: START.keys, label: 'Start it', run: () => setStarts(true) }]);
  const tab = search.tab ?? 'graph';
  const digest = search.v ?? told.digest;
  return (
    <>
      <div className={css.top}>
        <h1 className="data">{path}</h1>
        <code title={digest}>{digest.slice(0, 8)}</code>
        {digest === told.digest ? <Stands path={path} /> : <span>not the one that runs now</span>}
        <span className="grow" />
        <Link className="act" to="/edit/$" params={{ _splat: path }}>
          Edit
        </Link>
        <Button
          icon={Terminal}
          onClick={() => void copy(asCli(['start', path]))}
          title="How it is started on the command line"
        >
          CLI
        </Button>
        <Button kind="main" icon={Play} title="s" onClick={() => setStarts(true)}>
          Start…
        </Button>
      </div>
      {starts ? (
        <StartDialog
          path={path}
          onClose={() => setStarts(false)}
          onStarted={(id) => void navigate({ to: '/e/$id', params: { id } })}
        />
      ) : null}
      <Tabs
        label="Parts of the playbook"
        tabs={TABS.map((id) => ({ id, label: LABELS[id] }))}
        value={tab}
        onChange={(next) => void navigate({ to: '.', search: (was) => ({ ...was, tab: next }) })}
        className={css.panel ?? ''}
      >
        {tab === 'graph' ? <GraphTab path={path} digest={digest} /> : null}
        {tab === 'source' && digest === told.digest ? <Source text={told.text} /> : null}
        {tab === 'source' && digest !== told.digest ? <SourceOf digest={digest} /> : null}
        {tab === 'versions' ? (
          <VersionsTab path={path} now={told.digest} shown={search.v} against={search.with} />
        ) : null}
        {tab === 'executions' ? <RunsTab name={told.name} /> : null}
        {tab === 'tests' ? <TestsTab path={path} /> : null}
        {tab === 'schedules' ? <SchedulesTab path={path} /> : null}
      </Tabs>
    </>
  );
}

/** Its tests are run where it is written: cases, what each took, and which arcs none takes. */
function TestsTab({ path }: { path: string }) {
  return (
    <Empty title="Tests are run where it is written" command={`petra test ${path}.test.yaml`}>
      <p>A case says what the tools answer and what must come of it; it runs in virtual time.</p>
      <Link to="/edit/$" params={{ _splat: path }} search={{ panel: 'tests' }}>
        Open its tests in the editor
      </Link>
    </Empty>
  );
}

/** Whether it is sound, and what of it is open. */
function Stands({ path }: { path: string }) {
  const { data } = useStanding(path);
  if (!data) return null;
  return (
    <>
      <Verdict proof={data.proof} />
      <span className="muted">{data.open ? `${number(data.open)} open` : 'nothing open'}</span>
    </>
  );
}

function percent(share: number | null): string | null {
  return share === null ? null : `${Math.round(share * 100)} %`;
}

function GraphTab({ path, digest }: { path: string; digest: string }) {
  const drawn = useQuery({
    queryKey: keys.graph(digest, 'step'),
    queryFn: () => graph(digest, 'step'),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const went = useQuery({ queryKey: keys.heat(path), queryFn: () => heat(path), staleTime: 10_000 });
  const shareOf = (arc: GraphArc) => (went.data ? arcShare(went.data, arc.from, arc.index ?? 0) : null);
  return (
    <div className={css.pad}>
      {went.data ? (
        <p className="row">
          {went.data.executions ? (
            <span className="muted">
              {went.data.executions === 1
                ? 'its only execution'
                : `the last ${number(went.data.executions)} executions`}
            </span>
          ) : null}
          <Outcomes last={went.data.last} />
        </p>
      ) : null}
      <Answer of={drawn} lines={10}>
        {(graph) => (
          <Drawing
            graph={graph}
            factOf={(node) => (went.data ? factOf(went.data, node.step ?? node.id) : null)}
            arcText={(arc) => percent(shareOf(arc))}
            isTaken={(arc) => shareOf(arc) !== 0}
          />
        )}
      </Answer>
    </div>
  );
}

/** What was applied earlier, as it is run. */
function SourceOf({ digest }: { digest: string }) {
  const found = useQuery({
    queryKey: keys.definition(digest),
    queryFn: () => definition(digest),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Answer of={found} lines={20}>
      {({ text }) => <Source text={text} />}
    </Answer>
  );
}

function Source({ text }: { text: string }) {
  return <pre className={`${css.pad} data`}>{unsigned(text)}</pre>;
}
