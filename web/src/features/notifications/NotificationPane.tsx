import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ActDialog } from '../../acts/ActDialog';
import { offer } from '../../acts/gate';
import { type NotificationView, RETRY_NOTIFICATION } from '../../acts/notifications';
import type { NotificationState } from '../../api/notifications';
import { Button, shortId, Time, useKeys } from '../../kit';
import css from './notifications.module.css';
import { STATE_WORDS, whom } from './words';

interface Props {
  view: NotificationView;
  onClose: () => void;
  onDone: () => void;
}

/** One notification: what it says, to whom, and what became of it. */
export function NotificationPane({ view, onClose, onDone }: Props) {
  const one = view.notification;
  const [asks, setAsks] = useState(false);
  const retry = offer(RETRY_NOTIFICATION, view, () => setAsks(true));
  useKeys([retry.key]);
  return (
    <aside className={`${css.pane} stack`} aria-label="The notification">
      <div className="row">
        <h2 className="grow data">{one.title}</h2>
        <Button kind="quiet" onClick={onClose}>
          Close
        </Button>
      </div>
      {one.text ? <p className={`${css.text} data`}>{one.text}</p> : null}
      <dl className={css.facts}>
        <dt>State</dt>
        <dd>{STATE_WORDS[one.state as NotificationState] ?? one.state}</dd>
        <dt>To</dt>
        <dd className="data">{whom(one)}</dd>
        <dt>About</dt>
        <dd className="data">{one.about}</dd>
        <dt>From</dt>
        <dd>
          <Link to="/e/$id" params={{ id: one.execution }} className="mono">
            {shortId(one.execution)}
          </Link>
        </dd>
        <dt>Tries</dt>
        <dd>
          {one.attempts}, the last <Time at={one.updated} />
        </dd>
        {one.state === 'waiting' ? (
          <>
            <dt>Next</dt>
            <dd>
              <Time at={one.due} />
            </dd>
          </>
        ) : null}
        {one.error ? (
          <>
            <dt>Why not</dt>
            <dd className={`${css.trouble} data`}>{one.error}</dd>
          </>
        ) : null}
      </dl>
      <div className="row">
        <Button {...retry.button}>{RETRY_NOTIFICATION.label}…</Button>
      </div>
      {asks ? (
        <ActDialog act={RETRY_NOTIFICATION} view={view} onClose={() => setAsks(false)} onDone={onDone} />
      ) : null}
    </aside>
  );
}
