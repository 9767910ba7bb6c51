import type { ReactNode, Ref } from 'react';
import { Split, Tabs } from '../../kit';
import { useNarrow } from '../../kit/useNarrow';
import css from './execution.module.css';
import { GraphPane } from './graph/GraphPane';
import { LogPane } from './log/LogPane';
import { PANES, type PaneName } from './search';
import { SidePane } from './side/SidePane';
import { TimelinePane } from './timeline/TimelinePane';
import type { View } from './view';

const NAMES: Record<PaneName, string> = { graph: 'Graph', timeline: 'Timeline', log: 'Log', side: 'Details' };

/** The four panes; those that are not wanted leave their room to the others. */
export function Panes({ view, logInput }: { view: View; logInput: Ref<HTMLInputElement> }) {
  const narrow = useNarrow();
  const { search } = view;
  const parts: Record<PaneName, ReactNode> = {
    graph: <GraphPane view={view} />,
    timeline: <TimelinePane view={view} />,
    log: <LogPane view={view} inputRef={logInput} />,
    side: <SidePane view={view} />,
  };
  if (narrow) {
    const shown = search.focus ?? (search.tab ? 'side' : 'graph'); // who is sent to an explanation reads it
    return (
      <div className={css.narrow}>
        <Tabs
          label="Panes"
          tabs={PANES.map((id) => ({ id, label: NAMES[id] }))}
          value={shown}
          onChange={(focus) => view.go({ focus })}
          className={css.narrowPanel}
        >
          {parts[shown]}
        </Tabs>
      </div>
    );
  }
  if (search.focus) return <div className={css.body}>{parts[search.focus]}</div>;
  const show = search.show ?? PANES;
  const pair = (axis: 'x' | 'y', name: string, start: number, one: ReactNode, two: ReactNode) =>
    one && two ? (
      <Split axis={axis} name={name} label={`Size of ${name}`} start={start} first={one} second={two} />
    ) : (
      (one ?? two)
    );
  const part = (name: PaneName) => (show.includes(name) ? parts[name] : null);
  const above = pair('x', 'graph and details', 0.68, part('graph'), part('side'));
  const below = pair('x', 'timeline and log', 0.42, part('timeline'), part('log'));
  return <div className={css.body}>{pair('y', 'upper and lower half', 0.66, above, below)}</div>;
}
