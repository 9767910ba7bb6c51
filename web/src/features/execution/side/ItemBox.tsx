import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { workItem } from '../../../api/items';
import { keys } from '../../../api/keys';
import { Answer, Button, State, Time } from '../../../kit';
import type { View } from '../view';
import css from './side.module.css';

/** A work item: what is asked of whom, and what came of it. It is answered in the inbox. */
export function ItemBox({ view, item, isOfStep = false }: { view: View; item: string; isOfStep?: boolean }) {
  const found = useQuery({
    queryKey: keys.workItem(view.id, item),
    queryFn: () => workItem(view.id, item),
  });
  return (
    <Answer of={found} lines={4}>
      {(one) => (
        <article className={isOfStep ? css.box : 'stack'}>
          <div className="row wrap">
            {isOfStep ? <b className="data">{one.title}</b> : <h2 className="data">{one.title}</h2>}
            {isOfStep ? null : <State status={one.state} />}
          </div>
          <p className="data">
            {one.holder
              ? `held by ${one.holder}`
              : `asked of ${[...one.users, ...one.roles.map((role) => `role ${role}`)].join(', ') || 'anybody'}`}
          </p>
          <p className="muted">
            since <Time at={one.created} />
            {one.due ? (
              <>
                {' · due '}
                <Time at={one.due} />
              </>
            ) : null}
          </p>
          <div className="row wrap">
            <Link className="act" to="/inbox" search={{ box: 'all', item: `${view.id}/${item}` }}>
              Open the work item
            </Link>
            {isOfStep ? null : (
              <Button
                onClick={() => view.select({ kind: 'step', step: one.step })}
              >{`Step ${one.step}`}</Button>
            )}
          </div>
        </article>
      )}
    </Answer>
  );
}
