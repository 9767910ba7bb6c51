import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { WorkItem } from '../../api/items';
import { changes } from '../../api/items';
import { keys } from '../../api/keys';
import { Answer, Time } from '../../kit';
import css from './inbox.module.css';

/** Who did what with it, and when; asked for when somebody wants to know. */
export function History({ item }: { item: WorkItem }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>History</summary>
      {open ? <Told item={item} /> : null}
    </details>
  );
}

function Told({ item }: { item: WorkItem }) {
  const found = useQuery({
    queryKey: keys.itemChanges(item.execution, item.id, item.updated),
    queryFn: () => changes(item),
    placeholderData: (before) => before,
  });
  return (
    <Answer of={found} lines={2}>
      {(list) => (
        <ol className={css.history}>
          <li>
            <Time at={item.created} /> asked
          </li>
          {list.map((one) => (
            <li key={one.seq}>
              <Time at={one.at} /> <span className="data">{one.text}</span>{' '}
              <Link
                to="/e/$id"
                params={{ id: item.execution }}
                search={{ at: one.seq, sel: `rec:${one.seq}` }}
              >
                record {one.seq}
              </Link>
            </li>
          ))}
        </ol>
      )}
    </Answer>
  );
}
