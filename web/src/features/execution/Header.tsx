import { Link } from '@tanstack/react-router';
import { CircleHelp, Ellipsis, LayoutPanelLeft, Square, SquareCheck, Terminal } from 'lucide-react';
import { ACTS, actOf } from '../../acts/registry';
import { Button, duration, MenuButton, Name, number, OVER, State, shortId, Time, useNow } from '../../kit';
import { placeInWords, placeOf } from '../../kit/limit-words';
import css from './execution.module.css';
import { PANES, type PaneName } from './search';
import { useLineage } from './useLineage';
import type { View } from './view';

const SHOWN = ['pause', 'resume', 'rerun'];

/** Who started it, and who started them: the way back. */
function Above({ view }: { view: View }) {
  const parents = useLineage(view.id, 0).data?.parents ?? [view.head.parent];
  return (
    <nav aria-label="Started by" className={`${css.above} muted`}>
      {[...parents].reverse().map((id) => (
        <span key={id}>
          <Link to="/e/$id" params={{ id }} className="mono" title={id}>
            {shortId(id)}
          </Link>
          {' / '}
        </span>
      ))}
    </nav>
  );
}

/** Which panes there are, and which of them are shown; one stays. */
function PanesMenu({ view }: { view: View }) {
  const shown = view.search.show ?? PANES;
  const turn = (pane: PaneName) => {
    const next = PANES.filter((one) => (one === pane) !== shown.includes(one));
    view.go({ show: next.length === PANES.length ? undefined : next, focus: undefined });
  };
  return (
    <MenuButton
      label="Panes"
      items={PANES.map((pane) => {
        const isShown = shown.includes(pane);
        return {
          id: pane,
          label: `${isShown ? 'Hide' : 'Show'} the ${pane === 'side' ? 'details' : pane}`,
          icon: isShown ? SquareCheck : Square,
          why: isShown && shown.length === 1 ? 'one pane stays' : null,
          onClick: () => turn(pane),
        };
      })}
    >
      <LayoutPanelLeft size={16} aria-hidden />
    </MenuButton>
  );
}

/** What it is, how it is, and what can be done. */
export function Header({ view, onCopy }: { view: View; onCopy: () => void }) {
  const { head, story } = view;
  const started = head.started ? Date.parse(head.started) : 0;
  const now = useNow(!OVER.has(head.status));
  const end = head.ended ? Date.parse(head.ended) : now;
  const place = placeOf(view.waiting.values());
  const main = head.status === 'paused' ? ['resume', 'rerun'] : ['pause', 'rerun'];
  return (
    <div className={css.head}>
      {head.parent ? <Above view={view} /> : null}
      <h1 className={css.title}>
        <Link to="/executions" search={{ playbook: head.playbook }}>
          <Name>{head.playbook}</Name>
        </Link>
        <span className="muted"> / </span>
        <span className="mono" title={head.id}>
          {shortId(head.id)}
        </span>
      </h1>
      <State status={head.status} reason={head.reason} />
      {place ? <span className="data">{placeInWords(place)}</span> : null}
      <span className={`${css.facts} muted`}>
        started <Time at={head.started} /> · {duration(end - started)} · {number(story.version)} records ·
        digest <code title={head.digest}>{head.digest.slice(0, 6)}</code>
        {head.labels['petra/forked-from'] ? (
          <>
            {' · '}
            <Link to="/e/$id" params={{ id: head.labels['petra/forked-from'] }}>
              origin
            </Link>{' '}
            <Link to="/e/$id/diff/$other" params={{ id: head.labels['petra/forked-from'], other: head.id }}>
              compare
            </Link>
          </>
        ) : null}
      </span>
      <span className="grow" />
      <span className={css.wide}>
        <Button icon={CircleHelp} onClick={() => view.go({ tab: 'explain' })} title="Why it waits (e)">
          Explain
        </Button>
      </span>
      {main.map((id) => (
        <Button key={id} {...view.offer(id).button}>
          {`${id === 'rerun' ? 'Rerun' : actOf(id).label}…`}
        </Button>
      ))}
      <MenuButton
        label="More acts"
        items={ACTS.filter((act) => !SHOWN.includes(act.id)).map((act) => view.offer(act.id).item)}
      >
        <Ellipsis size={16} aria-hidden />
      </MenuButton>
      <span className={css.wide}>
        <PanesMenu view={view} />
      </span>
      <span className={css.wide}>
        <Button icon={Terminal} onClick={onCopy} title="The same on the command line">
          CLI
        </Button>
      </span>
    </div>
  );
}
