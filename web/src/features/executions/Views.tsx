import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Bookmark, Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { dropView, keepView, views } from '../../api/calls';
import { keys } from '../../api/keys';
import { type ListQuery, parsed, written } from '../../api/lists';
import { Button, Check, Dialog, ErrorBox, MenuButton, type MenuItem, TextField, toast } from '../../kit';
import { searchOf } from './search';

/** Queries that people keep under a name. */
export function Views({ query, current }: { query: ListQuery; current: string | undefined }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const found = useQuery({ queryKey: keys.views, queryFn: views });
  const [keeps, setKeeps] = useState(false);
  const kept = (found.data ?? []).filter((one) => one.page === 'executions');
  const items: MenuItem[] = kept.map((one) => ({
    id: one.name,
    label: one.mine || !one.shared ? one.name : `${one.name} (shared)`,
    icon: Bookmark,
    onClick: () =>
      void navigate({ to: '/executions', search: { ...searchOf(parsed(one.query)), view: one.name } }),
  }));
  items.push({ id: '+', label: 'Keep this view…', icon: Plus, onClick: () => setKeeps(true) });
  if (current && kept.some((one) => one.name === current && one.mine)) {
    items.push({
      id: '-',
      label: `Forget '${current}'`,
      icon: Trash2,
      danger: true,
      onClick: () =>
        void dropView(current)
          .then(() => client.invalidateQueries({ queryKey: keys.views }))
          .catch((error: unknown) => toast('It could not be forgotten', String(error), 'failed')),
    });
  }
  return (
    <>
      <MenuButton label="Views" items={items}>
        {current ? `View: ${current}` : 'Views'}
      </MenuButton>
      {keeps ? <KeepDialog query={written(query)} onClose={() => setKeeps(false)} /> : null}
    </>
  );
}

function KeepDialog({ query, onClose }: { query: string; onClose: () => void }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const [shared, setShared] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const keep = async () => {
    try {
      await keepView(name, query, 'executions', shared);
      await client.invalidateQueries({ queryKey: keys.views });
      onClose();
      await navigate({ to: '/executions', search: { ...searchOf(parsed(query)), view: name } });
    } catch (problem) {
      setError(problem);
    }
  };
  return (
    <Dialog title="Keep this view" onClose={onClose} size="sm">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void keep();
        }}
      >
        <p>
          <code className="data">{query || 'all executions'}</code>
        </p>
        <TextField label="Name" value={name} onChange={setName} required autoFocus />
        <Check label="Everybody sees it" checked={shared} onChange={setShared} />
        {error ? <ErrorBox error={error} /> : null}
        <Button kind="main" type="submit" why={name.trim() ? null : 'give it a name'}>
          Keep
        </Button>
      </form>
    </Dialog>
  );
}
