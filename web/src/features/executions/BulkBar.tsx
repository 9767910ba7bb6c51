import { useNavigate } from '@tanstack/react-router';
import { Columns2 } from 'lucide-react';
import { useState } from 'react';
import { ActDialog } from '../../acts/ActDialog';
import { BULK_ACTS, type BulkAct, type BulkView } from '../../acts/bulk';
import { offer } from '../../acts/gate';
import { useDoer } from '../../acts/useDoer';
import { asked, type ListQuery } from '../../api/lists';
import type { Operation } from '../../api/shapes';
import { Button, plural, useKeys } from '../../kit';
import css from './executions.module.css';

interface Props {
  chosen: readonly string[];
  total: number;
  query: ListQuery;
  onClear: () => void;
  /** An act was begun: the id of what it became. */
  onBegun: (id: string) => void;
}

/** What can be done to those that are selected, or to all that match. */
export function BulkBar({ chosen, total, query, onClear, onBegun }: Props) {
  const navigate = useNavigate();
  const [begun, setBegun] = useState<{ act: BulkAct; view: BulkView } | null>(null);
  const [all, setAll] = useState(false);
  const view: BulkView = { which: { ids: chosen }, ...useDoer() };
  // what matches is fixed when the dialog opens: what is asked about is what is done
  const begin = (act: BulkAct) =>
    setBegun({ act, view: all ? { ...view, which: { filter: asked(query, Date.now()) } } : view });
  const offers = BULK_ACTS.map((act) => ({ act, ...offer(act, view, () => begin(act)) }));
  useKeys(offers.map(({ act, key }) => ({ ...key, label: `${act.label} those selected` })));
  return (
    <section className={css.bulk} aria-label="Acts on those that are selected">
      <strong>
        {all
          ? `all ${plural(total, 'execution')} that match`
          : `${plural(chosen.length, 'execution')} selected`}
      </strong>
      <Button kind="quiet" onClick={() => setAll(!all)}>
        {all ? 'only those selected' : `or all ${total} that match`}
      </Button>
      <span className="grow" />
      {chosen.length === 2 && !all ? (
        <Button
          icon={Columns2}
          onClick={() =>
            void navigate({
              to: '/e/$id/diff/$other',
              params: { id: chosen[0] ?? '', other: chosen[1] ?? '' },
            })
          }
        >
          Compare
        </Button>
      ) : null}
      {offers.map(({ act, button }) => (
        <Button key={act.id} kind={act.danger ? 'danger' : 'plain'} title={act.keys} {...button}>
          {`${act.label}…`}
        </Button>
      ))}
      <Button kind="quiet" onClick={onClear}>
        Clear
      </Button>
      {begun ? (
        <ActDialog
          act={begun.act}
          view={begun.view}
          title={`${begun.act.label} many`}
          onClose={() => setBegun(null)}
          onDone={(answer) => {
            onBegun((answer as Operation).id ?? '');
            onClear();
          }}
        />
      ) : null}
    </section>
  );
}
