import { Link } from '@tanstack/react-router';
import { CircleHelp, Ellipsis, Terminal } from 'lucide-react';
import { ACTS, actOf, hindrance } from '../../acts/registry';
import { Button, duration, MenuButton, number, OVER, State, shortId, Time, useNow } from '../../kit';
import { placeInWords, placeOf } from '../../kit/limit-words';
import css from './execution.module.css';
import { useLineage } from './side/FamilyTab';
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

/** What it is, how it is, and what can be done. */
export function Header({ view, onCopy }: { view: View; onCopy: () => void }) {
  const { head, story, acts } = view;
  const started = head.started ? Date.parse(head.started) : 0;
  const now = useNow(!OVER.has(head.status));
  const end = head.ended ? Date.parse(head.ended) : now;
  const place = placeOf(view.waiting.values());
  const main = head.status === 'paused' ? ['resume', 'rerun'] : ['pause', 'rerun'];
  return (
    <div className={css.head}>
      {head.parent ? <Above view={view} /> : null}
      <h1 className={css.title}>
        <Link to="/executions" search={{ playbook: head.playbook }} className="data">
          {head.playbook}
        </Link>
        <span className="muted"> / </span>
        <span className="mono" title={head.id}>
          {shortId(head.id)}
        </span>
      </h1>
      <State status={head.status} reason={head.reason} />
      {place ? <span className="data">{placeInWords(place)}</span> : null}
      <span className={`${css.facts} muted`}>
        started <Time at={head.started} /> · {duration(end - started)} · {number(story.version)} records
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
      {main.map((id) => {
        const act = actOf(id);
        return (
          <Button key={id} icon={act.icon} why={hindrance(act, acts)} onClick={() => view.act(id)}>
            {`${id === 'rerun' ? 'Rerun' : act.label}…`}
          </Button>
        );
      })}
      <MenuButton
        label="More acts"
        items={ACTS.filter((act) => !SHOWN.includes(act.id)).map((act) => ({
          id: act.id,
          label: `${act.label}…`,
          icon: act.icon,
          danger: act.danger,
          keys: act.keys,
          why: hindrance(act, acts),
          onClick: () => view.act(act.id),
        }))}
      >
        <Ellipsis size={16} aria-hidden />
      </MenuButton>
      <span className={css.wide}>
        <Button icon={Terminal} onClick={onCopy} title="The same on the command line">
          CLI
        </Button>
      </span>
    </div>
  );
}
