/**
 * The one gate of all acts. Whatever asks for one, a button, a menu, a key or the palette, is made here and asks here
 * whether it can be done; whatever sends one asks once more, for much may have happened since.
 */
import type { LucideIcon } from 'lucide-react';
import { carryOut, onceKey } from '../api/client';
import { connection } from '../api/connection';
import { Problem } from '../api/problems';
import { type KeyBinding, type MenuItem, toast } from '../kit';
import type { Command } from '../kit/commands';
import { type Act, type Doer, type Form, hindrance, named } from './act';

/** An act that can be asked for, by every way in. */
export interface Offer {
  /** Why it cannot be done now; null where it can. */
  why: string | null;
  /** Begin it, or say why not. */
  ask: () => void;
  button: { icon: LucideIcon; why: string | null; onClick: () => void };
  key: KeyBinding;
  item: MenuItem;
  command: Command;
}

export function offer<V extends Doer>(act: Act<V>, view: V, begin: () => void): Offer {
  const { id, label, icon, keys, danger } = act;
  const why = hindrance(act, view);
  const ask = () => (why ? toast(`${named(act)}: not now`, why, 'failed') : begin());
  return {
    why,
    ask,
    button: { icon, why, onClick: ask },
    key: { keys, label, run: ask },
    item: { id, label: label.endsWith('…') ? label : `${label}…`, icon, danger, keys, why, onClick: ask },
    command: { id, label, group: 'Acts', run: ask },
  };
}

/** The code of the problem that an act is told of which was never sent. */
export const HINDERED = 'hindered';

/** Send an act, unless something hinders it by now; under a key, the server does it once however often it is sent. */
export async function sent<T, V extends Doer = Doer>(
  act: Act<V>,
  view: V,
  form: Form = {},
  key: string | null = onceKey(),
): Promise<T> {
  const why = hindrance(act, { ...view, offline: connection.getLine() === 'offline' });
  if (why) {
    const title = `${named(act)}: not now`;
    throw new Problem({ title, status: 0, code: HINDERED, detail: why, hint: 'nothing was sent' });
  }
  const call = act.call(view, form);
  const headers = key === null ? call.headers : { ...call.headers, 'Idempotency-Key': key };
  return carryOut<T>({ ...call, headers });
}
