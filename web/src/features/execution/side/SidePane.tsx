import { lazy, type ReactNode, Suspense } from 'react';
import { Skeleton, Tabs } from '../../../kit';
import { TABS, type TabName } from '../search';
import type { View } from '../view';
import { ExplainTab } from './ExplainTab';
import { IoTab } from './IoTab';
import { SelectionTab } from './SelectionTab';
import css from './side.module.css';

// what is asked for now and then is fetched then
const CtxTab = lazy(() => import('./CtxTab').then((found) => ({ default: found.CtxTab })));
const FamilyTab = lazy(() => import('./FamilyTab'));
const LogsTab = lazy(() => import('./LogsTab'));
const SourceTab = lazy(() => import('./SourceTab'));

const LABELS: Record<TabName, string> = {
  step: 'Step',
  explain: 'Explain',
  ctx: 'ctx',
  io: 'In/Out',
  logs: 'Logs',
  family: 'Family',
  source: 'YAML',
};

const CONTENT: Record<TabName, (view: View) => ReactNode> = {
  step: (view) => <SelectionTab view={view} />,
  explain: (view) => <ExplainTab view={view} />,
  ctx: (view) => <CtxTab view={view} />,
  io: (view) => <IoTab view={view} />,
  logs: (view) => <LogsTab view={view} />,
  family: (view) => <FamilyTab view={view} />,
  source: (view) => <SourceTab view={view} />,
};

/** What is to be known of the selection. */
export function SidePane({ view }: { view: View }) {
  const tab = view.search.tab ?? (view.sel?.kind === 'ctx' ? 'ctx' : 'step');
  return (
    <section className={css.pane} aria-label="Details" data-pane="side">
      <Tabs
        label="Details"
        tabs={TABS.map((id) => ({ id, label: LABELS[id] }))}
        value={tab}
        onChange={(next) => view.go({ tab: next })}
        className={css.panel}
      >
        <Suspense fallback={<Skeleton />}>{CONTENT[tab](view)}</Suspense>
      </Tabs>
    </section>
  );
}
