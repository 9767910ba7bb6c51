import { useQuery } from '@tanstack/react-query';
import { FilePlus2 } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { keys } from '../../api/keys';
import { choices } from '../../api/running';
import { Button, Dialog, TextField } from '../../kit';

interface Props {
  onClose: () => void;
  onChosen: (path: string) => void;
}

/** Why nothing new can be written under a path; null where it can. */
export function unfitPath(path: string, taken: readonly string[]): string | null {
  const parts = path.split('/');
  if (!path) return 'this is needed';
  if (path !== path.trim() || parts.some((one) => !one || one === '.' || one === '..'))
    return 'names with a / between them, such as team/orders';
  return taken.includes(path) ? 'there is one already: choose another path, or edit that one' : null;
}

/** Where a new playbook is to be found; it is there once it was applied. */
export function NewPlaybook({ onClose, onChosen }: Props) {
  const [path, setPath] = useState('');
  const [tried, setTried] = useState(false);
  const known = useQuery({ queryKey: keys.playbooks, queryFn: choices });
  const wrong = unfitPath(path, known.data?.items.map((one) => one.path) ?? []);
  return (
    <Dialog title="New playbook" onClose={onClose}>
      <form
        noValidate
        className="stack"
        onSubmit={(event: FormEvent) => {
          event.preventDefault();
          setTried(true);
          if (!wrong) onChosen(path);
        }}
      >
        <p>The editor opens with a small text to begin with. Nothing is stored until you apply it.</p>
        <TextField
          label="Path"
          placeholder="team/orders"
          description="what it is started and scheduled by"
          value={path}
          onChange={setPath}
          error={tried || path ? wrong : null}
          required
          autoFocus
          mono
        />
        <div className="row">
          <Button kind="main" type="submit" icon={FilePlus2}>
            Write it
          </Button>
          <Button onClick={onClose}>Leave it</Button>
        </div>
      </form>
    </Dialog>
  );
}
