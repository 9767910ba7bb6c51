import { Copy, FolderOpen, Play, Plus } from 'lucide-react';
import { useRef } from 'react';
import type { CaseDone, Finding, Tested } from '../../api/authoring';
import type { Graph, GraphNode } from '../../api/shapes';
import { Button, copy, duration, Empty, ErrorBox, plural } from '../../kit';
import { Covered } from './Covered';
import { firstCase, percentage, withCase } from './cases';
import css from './editor.module.css';
import { Played } from './Played';
import { TextPane } from './TextPane';

interface Props {
  path: string;
  text: string;
  onText: (text: string) => void;
  graph: Graph | null;
  tested: Tested | null;
  error: unknown;
  busy: boolean;
  onRun: () => void;
  /** The case whose story is shown, by its name. */
  shown: string | undefined;
  onShow: (name: string | undefined) => void;
  at: number | undefined;
  onAt: (at: number | undefined) => void;
  selected: string | null;
  onSelect: (node: GraphNode) => void;
}

/** What is wrong with the test file, and each case that failed, where it stands. */
export function testProblems(tested: Tested | null): Finding[] {
  if (!tested) return [];
  const failed = tested.cases.filter((one) => one.result !== 'passed');
  const found = failed.map((one) => ({
    severity: 'error',
    code: one.result,
    line: one.line,
    column: 1,
    end_line: one.line,
    end_column: 200,
    message: firstLine(one.message),
    hint: '',
    fixes: [],
  }));
  return [...tested.problems, ...found];
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}

/** Cases that run in virtual time: what came of each, which arcs they took, and each as a story. */
export function TestsPane(props: Props) {
  const { path, text, onText, graph, tested, error, busy, onRun, shown } = props;
  const one = tested?.cases.find((found) => found.name === shown);
  const add = () => onText(withCase(text, path, firstCase(graph)));
  return (
    <div className="stack">
      <div className="row wrap">
        <Button
          kind="main"
          icon={Play}
          busy={busy}
          onClick={onRun}
          why={text.trim() ? null : 'there is no case yet'}
          title="Mod Enter"
        >
          Run the tests
        </Button>
        <Button icon={Plus} onClick={add}>
          Add a case
        </Button>
        <OpenFile onText={onText} />
        {text.trim() ? (
          <Button icon={Copy} onClick={() => void copy(text)}>
            Copy it
          </Button>
        ) : null}
        <Summary tested={tested} />
      </div>
      {text.trim() ? (
        <div className={css.cases}>
          <TextPane
            label="The test file"
            text={text}
            problems={testProblems(tested)}
            place={undefined}
            onChange={onText}
            onLine={() => undefined}
          />
        </div>
      ) : (
        <Empty title="No case yet" command={`petra test ${path}.test.yaml`}>
          <p>A case says what the tools answer and what must come of it; it runs here, in virtual time.</p>
        </Empty>
      )}
      {error ? <ErrorBox error={error} retry={onRun} /> : null}
      {tested?.message ? (
        <p role="alert" className="data">
          {tested.message}
        </p>
      ) : null}
      {tested?.cases.length ? <Cases {...props} cases={tested.cases} /> : null}
      {one ? <Shown {...props} one={one} /> : null}
      {!one && graph ? (
        <Covered
          graph={graph}
          tested={tested}
          selected={props.selected}
          onSelect={props.onSelect}
          onShow={props.onShow}
          onAdd={add}
        />
      ) : null}
      {one || graph ? null : <p className="muted">It is drawn once it reads.</p>}
    </div>
  );
}

/** A file of this machine is read here; it goes nowhere before the tests are run. */
function OpenFile({ onText }: { onText: (text: string) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button icon={FolderOpen} onClick={() => input.current?.click()}>
        Open a file…
      </Button>
      <input
        ref={input}
        type="file"
        accept=".yaml,.yml"
        className="hidden"
        aria-label="A test file"
        tabIndex={-1}
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          if (file) void file.text().then(onText);
          event.currentTarget.value = '';
        }}
      />
    </>
  );
}

function Summary({ tested }: { tested: Tested | null }) {
  if (!tested?.cases.length) return null;
  const bad = (tested.failed ?? 0) + (tested.errors ?? 0);
  const arcs = tested.coverage;
  return (
    <span role="status" data-testid="tested">
      {tested.passed ?? 0} passed{bad ? `, ${bad} failed` : ''}
      {arcs ? ` · ${arcs.taken} of ${plural(arcs.total, 'arc')} taken (${percentage(arcs)} %)` : ''}
    </span>
  );
}

function Cases({ cases, shown, onShow }: Props & { cases: readonly CaseDone[] }) {
  return (
    <ul className={css.results} aria-label="Cases">
      {cases.map((one) => (
        <li key={one.name}>
          <button
            type="button"
            className={css.result}
            data-result={one.result}
            aria-pressed={one.name === shown}
            onClick={() => onShow(one.name === shown ? undefined : one.name)}
          >
            <strong>{one.result}</strong> <span className="data">{one.name}</span>
            {one.elapsed_s ? <span className="muted"> {duration(one.elapsed_s * 1000)} virtual</span> : null}
            {one.message ? <span className="muted data"> {firstLine(one.message)}</span> : null}
          </button>
        </li>
      ))}
    </ul>
  );
}

function Shown({ one, graph, at, onAt, selected, onSelect, onShow }: Props & { one: CaseDone }) {
  return (
    <section className="stack" aria-label={`The case ${one.name}`}>
      <div className="row">
        <h3 className="grow data">{one.name}</h3>
        <Button kind="quiet" onClick={() => onShow(undefined)}>
          Coverage of all cases
        </Button>
      </div>
      {one.result === 'passed' ? null : <pre className="data">{one.message}</pre>}
      {graph && one.frames ? (
        <Played
          key={one.name}
          graph={graph}
          frames={one.frames}
          label={`The case ${one.name}`}
          at={at}
          onAt={onAt}
          selected={selected}
          onSelect={onSelect}
        />
      ) : (
        <p className="muted">It did not come so far that there is something to see.</p>
      )}
    </section>
  );
}
