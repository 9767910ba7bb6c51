import { lazy, Suspense, useCallback } from 'react';
import type { Checked } from '../../api/authoring';
import type { Graph } from '../../api/shapes';
import { Skeleton, Tabs } from '../../kit';
import type { Base } from './ConflictPane';
import { caseOfWay, withCase } from './cases';
import type { Fix } from './diagnostics';
import css from './editor.module.css';
import { ProofPane } from './ProofPane';
import { SimulatePane } from './SimulatePane';
import { type EditorSearch, PANELS, type Panel } from './search';
import { TestsPane } from './TestsPane';
import type { TestsKept } from './useTests';

const TextDiff = lazy(() => import('../../kit/TextDiff'));
const LABELS: Record<Panel, string> = {
  proof: 'Graph and proof',
  tests: 'Tests',
  simulate: 'Simulate',
  diff: 'Changes',
};

interface SideProps {
  path: string;
  search: EditorSearch;
  go: (next: Partial<EditorSearch>, replace?: boolean) => void;
  base: Base;
  text: string;
  checked: Checked | null;
  /** Its graph is that of an earlier text. */
  isOld: boolean;
  tests: TestsKept;
  here: string | null;
  onLine: (line: number | undefined) => void;
  onFix: (fix: Fix) => void;
}

/** What is to be seen of the text: its graph and proof, its tests, a walk through it, what was changed. */
export function Side(props: SideProps) {
  const { path, search, go, base, text, checked, isOld, tests, here, onLine, onFix } = props;
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
            isOld={isOld}
            onLine={onLine}
            text={text}
            onFix={onFix}
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
