import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Ban, Columns2, Pause, Play } from 'lucide-react';
import { useState } from 'react';
import { CopyAs } from '../../acts/CopyAs';
import { basePath, type Call, carryOut } from '../../api/client';
import { asked, type ListQuery } from '../../api/lists';
import type { Operation } from '../../api/shapes';
import { Button, Dialog, ErrorBox, plural, Skeleton, TextField, toast } from '../../kit';
import css from './executions.module.css';

type BulkAct = 'cancel' | 'pause' | 'resume';

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
  const [act, setAct] = useState<BulkAct | null>(null);
  const [all, setAll] = useState(false);
  const why = may.includes('steer') ? null : "you may not 'steer' here; ask an administrator";
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
      <Button icon={Pause} onClick={() => setAct('pause')} why={why}>
        Pause…
      </Button>
      <Button icon={Play} onClick={() => setAct('resume')} why={why}>
        Resume…
      </Button>
      <Button icon={Ban} kind="danger" onClick={() => setAct('cancel')} why={why}>
        Cancel…
      </Button>
      <Button kind="quiet" onClick={onClear}>
        Clear
      </Button>
      {act ? (
        <BulkDialog
          act={act}
          which={all ? { filter: asked(query, Date.now()) } : { ids: chosen }}
          onClose={() => setAct(null)}
          onDone={onClear}
        />
      ) : null}
    </section>
  );
}

interface DialogProps {
  act: BulkAct;
  which: { ids: readonly string[] } | { filter: Record<string, string | string[]> };
  onClose: () => void;
  onDone: () => void;
}

const SAYS: Record<BulkAct, string> = {
  cancel: 'Everything they do is stopped; they end aborted. What was done is not undone.',
  pause: 'What runs goes on to its end; nothing new begins until they are resumed.',
  resume: 'Those that are paused go on where they were.',
};

function BulkDialog({ act, which, onClose, onDone }: DialogProps) {
  const [reason, setReason] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const body = { act, reason, ...which };
  const call: Call = { method: 'POST', path: '/api/v1/operations', body };
  const preview = useQuery({
    queryKey: ['operations', 'preview', act, which],
    queryFn: () => carryOut<Operation>({ ...call, path: `${call.path}?dry_run=true` }),
    gcTime: 0,
  });
  const send = async () => {
    setBusy(true);
    try {
      const made = await carryOut<Operation>(call);
      toast(`${act} was begun`, plural(made.total, 'execution'));
      onDone();
      onClose();
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  const title = `${act[0]?.toUpperCase()}${act.slice(1)} many`;
  const needed = act === 'cancel' && !reason.trim() ? 'say why first' : null;
  const ids = 'ids' in which ? which.ids : null;
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (!needed) void send();
        }}
      >
        {preview.isPending ? <Skeleton lines={1} /> : null}
        {preview.data ? (
          <p data-testid="preview">
            {plural(preview.data.total, 'execution')} will be asked to {act}.
          </p>
        ) : null}
        {preview.isError ? <ErrorBox error={preview.error} /> : null}
        <p>{SAYS[act]}</p>
        <TextField label="Reason" value={reason} onChange={setReason} required={act === 'cancel'} autoFocus />
        {error ? <ErrorBox error={error} /> : null}
        <div className="row">
          <Button type="submit" kind={act === 'cancel' ? 'danger' : 'main'} busy={busy} why={needed}>
            {`${act[0]?.toUpperCase()}${act.slice(1)} ${preview.data ? preview.data.total : ''}`}
          </Button>
          <Button onClick={onClose}>Leave it</Button>
        </div>
        <CopyAs
          call={call}
          cli={ids?.[0] ? [act, ids[0]] : ['ps']}
          origin={`${location.origin}${basePath()}`}
        />
      </form>
    </Dialog>
  );
}
