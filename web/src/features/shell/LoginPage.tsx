import { useSearch } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { logIn } from '../../api/calls';
import { basePath } from '../../api/client';
import { Button, Copyable, ErrorBox, TextField } from '../../kit';
import css from './shell.module.css';

/** Who are you: a name and a password, or the address that `petra serve` printed. */
export function Page() {
  const { to, used } = useSearch({ from: '/login' });
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const send = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      await logIn(name, password);
      location.assign(`${basePath()}${to || '/'}`);
    } catch (wrong) {
      setError(wrong);
      setBusy(false);
    }
  };
  return (
    <main className={css.login}>
      <form onSubmit={(event) => void send(event)}>
        <h1>Petra</h1>
        {used ? <p role="alert">That address was used already: it lets somebody in once.</p> : null}
        <p className="muted">
          On your own machine, open the address that the server printed when it started. To get a fresh one,
          start it again:
        </p>
        <Copyable text="petra serve" label="the command" />
        <TextField label="Name" name="username" value={name} onChange={setName} required autoFocus />
        <TextField
          label="Password"
          name="password"
          type="password"
          value={password}
          onChange={setPassword}
          required
        />
        <Button kind="main" type="submit" busy={busy}>
          Log in
        </Button>
        {error ? <ErrorBox error={error} /> : null}
      </form>
    </main>
  );
}
