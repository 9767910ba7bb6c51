import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { Play } from 'lucide-react';
import { useState } from 'react';
import { StartDialog } from '../../acts/starting/StartDialog';
import { START } from '../../acts/starting/start';
import { unsigned } from '../../api/authoring';
import { definition, graph } from '../../api/calls';
import { keys } from '../../api/keys';
import { heat, playbook } from '../../api/running';
import type { GraphArc } from '../../api/shapes';
import { Button, Drawing, ErrorBox, number, Skeleton, Tabs, useKeys } from '../../kit';
import { arcShare, factOf } from './heat';
import { Outcomes } from './Outcomes';
import css from './playbooks.module.css';
import { type PlaybookTab, TABS } from './search';
import { VersionsTab } from './VersionsTab';

const route = getRouteApi('/inside/p/$');
const LABELS: Record<PlaybookTab, string> = { graph: 'Graph', source: 'Source', versions: 'Versions' };

/** One playbook: how it goes, how it went, and how it changed. */
export function Page() {
  const { _splat: path = '' } = route.useParams();
  const search = route.useSearch();
  const navigate = useNavigate();
  const found = useQuery({ queryKey: keys.playbook(path), queryFn: () => playbook(path) });
  const [starts, setStarts] = useState(false);
  useKeys([{ keys: START.keys, label: 'Start it', run: () => setStarts(true) }]);
  const tab = search.tab ?? 'graph';
  if (found.isPending) return <Skeleton lines={10} />;
  if (found.isError) return <ErrorBox error={found.error} retry={() => void found.refetch()} />;
  const digest = search.v ?? found.data.digest;
  return (
    <>
      <div className={css.top}>
        <h1 className="data">{path}</h1>
        <code title={digest}>{digest.slice(0, 8)}</code>
        {digest === found.data.digest ? null : <span>not the one that runs now</span>}
        <span className="grow" />
        <Link to="/executions" search={{ playbook: found.data.name }}>
          Its executions
        </Link>
        <Link to="/edit/$" params={{ _splat: path }}>
          Edit
        </Link>
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
        {tab === 'source' && digest === found.data.digest ? <Source text={found.data.text} /> : null}
        {tab === 'source' && digest !== found.data.digest ? <SourceOf digest={digest} /> : null}
        {tab === 'versions' ? (
          <VersionsTab path={path} now={found.data.digest} shown={search.v} against={search.with} />
        ) : null}
      </Tabs>
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
  if (drawn.isPending) return <Skeleton lines={10} />;
  if (drawn.isError) return <ErrorBox error={drawn.error} retry={() => void drawn.refetch()} />;
  return (
    <div className={css.pad}>
      {went.data ? (
        <p className="row">
          {went.data.executions ? (
            <span className="muted">
              {went.data.executions === 1
                ? 'its execution'
                : `the last ${number(went.data.executions)} executions`}
            </span>
          ) : null}
          <Outcomes last={went.data.last} />
        </p>
      ) : null}
      <Drawing
        graph={drawn.data}
        factOf={(node) => (went.data ? factOf(went.data, node.step ?? node.id) : null)}
        arcText={(arc) => percent(shareOf(arc))}
        isTaken={(arc) => shareOf(arc) !== 0}
      />
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
  if (found.isPending) return <Skeleton lines={20} />;
  if (found.isError) return <ErrorBox error={found.error} retry={() => void found.refetch()} />;
  return <Source text={found.data.text} />;
}

function Source({ text }: { text: string }) {
  return <pre className={`${css.pad} data`}>{unsigned(text)}</pre>;
}
