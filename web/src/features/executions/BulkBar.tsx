import { useNavigate } from '@tanstack/react-router';
import { Columns2 } from 'lucide-react';
import { useState } from 'react';
import { ActDialog } from '../../acts/ActDialog';
import { BULK_ACTS, type BulkAct, type BulkView } from '../../acts/bulk';
import { hindrance } from '../../acts/registry';
import { asked, type ListQuery } from '../../api/lists';
import type { Operation } from '../../api/shapes';
import { Button, plural, toast, useKeys } from '../../kit';
import css from './executions.module.css';

interface Props {
  chosen: readonly string[];
  total: number;
  query: ListQuery;
  may: readonly string[];
  onClear: () => void;
}

/** What can be done to those that are selected, or to all that match. */
export function BulkBar({ chosen, total, query, may, onClear }: Props) {
  const navigate = useNavigate();
  const [begun, setBegun] = useState<{ act: BulkAct; view: BulkView } | null>(null);
  const [all, setAll] = useState(false);
  const view: BulkView = { which: { ids: chosen }, may, offline: false };
  // what matches is fixed when the dialog opens: what is asked about is what is done
  const begin = (act: BulkAct) =>
    setBegun({ act, view: all ? { ...view, which: { filter: asked(query, Date.now()) } } : view });
  useKeys(
    BULK_ACTS.map((act) => ({ keys: act.keys, label: `${act.label} those selected`, run: () => begin(act) })),
  );
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
      {BULK_ACTS.map((act) => (
        <Button
          key={act.id}
          icon={act.icon}
          kind={act.danger ? 'danger' : 'plain'}
          why={hindrance(act, view)}
          title={act.keys}
          onClick={() => begin(act)}
        >
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
            toast(`${begun.act.label} was begun`, plural((answer as Operation).total, 'execution'));
            onClear();
          }}
        />
      ) : null}
    </section>
  );
}
