import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ActDialog } from '../../acts/ActDialog';
import { offer } from '../../acts/gate';
import { TRIGGER_ACTS, type TriggerAct, type TriggerView } from '../../acts/triggers';
import { useDoer } from '../../acts/useDoer';
import { keys } from '../../api/keys';
import type { Json } from '../../api/shapes';
import { type DeadLetter, deadLetters, triggers } from '../../api/triggers';
import { Answer, Button, Empty, plural, State, Time, Value } from '../../kit';
import css from './triggers.module.css';

const EVERY_MS = 5000;

type Asked = (act: TriggerAct, letters?: readonly string[]) => void;

/** What is started by events: where they come from, what came of them, and those that could start nothing. */
export function Page() {
  const found = useQuery({ queryKey: keys.triggers, queryFn: triggers, refetchInterval: EVERY_MS });
  const doer = useDoer();
  const client = useQueryClient();
  const [asked, setAsked] = useState<{ act: TriggerAct; view: TriggerView } | null>(null);
  return (
    <>
      <div className={css.top}>
        <h1>Triggers</h1>
      </div>
      <div className={css.list}>
        <Answer of={found}>
          {(list) => (
            <>
              {list.map((one) => {
                const view = { trigger: one, letters: [], ...doer };
                const onAct: Asked = (act, letters = []) => setAsked({ act, view: { ...view, letters } });
                return <Card key={one.name} view={view} onAct={onAct} />;
              })}
              {list.length === 0 ? <Nothing /> : null}
            </>
          )}
        </Answer>
      </div>
      {asked ? (
        <ActDialog
          act={asked.act}
          view={asked.view}
          onClose={() => setAsked(null)}
          onDone={() => void client.invalidateQueries({ queryKey: keys.triggers })}
        />
      ) : null}
    </>
  );
}

function Nothing() {
  return (
    <Empty title="Nothing is started by events" command="petra apply orders.trigger.yaml">
      <p>A document of kind Trigger names a playbook and what starts it: a webhook, a message, a file.</p>
    </Empty>
  );
}

function Card({ view, onAct }: { view: TriggerView; onAct: Asked }) {
  const one = view.trigger;
  const [opens, setOpens] = useState(false);
  return (
    <article className={`${css.card} stack tight`} aria-label={one.name}>
      <div className="row wrap">
        <h2 className="data">{one.name}</h2>
        <code>{one.source}</code>
        {one.paused ? <strong>paused</strong> : null}
        {one.paused && one.reason ? <span className="muted data">{one.reason}</span> : null}
        <span className="grow" />
        {TRIGGER_ACTS.map((act) => (
          <Button key={act.id} {...offer(act, view, () => onAct(act)).button}>
            {act.id === 'replay' ? 'Try all again' : act.label}
          </Button>
        ))}
      </div>
      <p>
        <span className="data">{one.words}</span> →{' '}
        <Link to="/p/$" params={{ _splat: one.playbook }} className="data">
          {one.playbook}
        </Link>
      </p>
      {one.last.length ? (
        <p className="row wrap">
          <span className="muted">last</span>
          {one.last.slice(0, 8).map((run) => (
            <Link key={run.execution} to="/e/$id" params={{ id: run.execution }} title={run.key ?? undefined}>
              <State status={run.status} />
            </Link>
          ))}
        </p>
      ) : (
        <p className="muted">It has started nothing yet.</p>
      )}
      {one.dead ? (
        <p>
          <button type="button" className={css.link} aria-expanded={opens} onClick={() => setOpens(!opens)}>
            {plural(one.dead, 'dead letter')}
          </button>
        </p>
      ) : null}
      {opens && one.dead ? <Dead name={one.name} number={one.dead} onAct={onAct} /> : null}
    </article>
  );
}

/** Events that could start nothing, and why: each can be tried again alone. */
function Dead({ name, number, onAct }: { name: string; number: number; onAct: Asked }) {
  const found = useInfiniteQuery({
    queryKey: keys.dead(name, number),
    queryFn: ({ pageParam }) => deadLetters(name, pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next ?? null,
  });
  const replay = TRIGGER_ACTS.find((act) => act.id === 'replay');
  return (
    <>
      <Answer of={found} lines={3}>
        {({ pages }) => (
          <ul className={css.letters} aria-label="Dead letters">
            {pages
              .flatMap((page) => page.items)
              .map((letter) => (
                <Letter
                  key={letter.id}
                  letter={letter}
                  onReplay={() => replay && onAct(replay, [letter.id])}
                />
              ))}
          </ul>
        )}
      </Answer>
      {found.hasNextPage ? (
        <Button busy={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
          More
        </Button>
      ) : null}
    </>
  );
}

function Letter({ letter, onReplay }: { letter: DeadLetter; onReplay: () => void }) {
  return (
    <li className="stack tight">
      <div className="row wrap">
        <Time at={letter.created} />
        <span className={`${css.trouble} data`}>{letter.error}</span>
        <span className="muted">tried {letter.attempts} ×</span>
        <span className="grow" />
        <Button onClick={onReplay}>Try again</Button>
      </div>
      <details>
        <summary>The event</summary>
        <Value value={letter.event as Json} />
      </details>
    </li>
  );
}
