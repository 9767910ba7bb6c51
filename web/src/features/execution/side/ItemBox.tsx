import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { workItem } from '../../../api/items';
import { keys } from '../../../api/keys';
import { Answer, Button, State, Time } from '../../../kit';
import type { View } from '../view';

/** A work item: what is asked of whom, and what came of it. It is answered in the inbox. */
export function ItemBox({ view, item }: { view: View; item: string }) {
  const found = useQuery({
    queryKey: keys.workItem(view.id, item),
    queryFn: () => workItem(view.id, item),
  });
  return (
    <Answer of={found} lines={4}>
      {(one) => (
        <div className="stack">
          <div className="row wrap">
            <h2 className="data">{one.title}</h2>
            <State status={one.state} />
          </div>
          <p className="data">
            {one.holder
              ? `held by ${one.holder}`
              : `asked: ${[...one.users, ...one.roles].join(', ') || 'anybody'}`}
          </p>
          <p className="muted">
            asked <Time at={one.created} />
            {one.due ? (
              <>
                {' · due '}
                <Time at={one.due} />
              </>
            ) : null}
          </p>
          <div className="row wrap">
            <Button
              onClick={() => view.select({ kind: 'step', step: one.step })}
            >{`Step ${one.step}`}</Button>
            <Link to="/inbox" search={{ box: 'all', item: `${view.id}/${item}` }}>
              Open the work item
            </Link>
          </div>
        </div>
      )}
    </Answer>
  );
}
