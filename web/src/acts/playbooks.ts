/** Applying a text: it becomes what is started under its path. */
import { Upload } from 'lucide-react';
import { API, inPlaceOf } from '../api/client';
import type { Act, Doer } from './act';

export interface ApplyView extends Doer {
  path: string;
  text: string;
  /** The tag of the text that it takes the place of; null where there is none yet. */
  replaces: string | null;
  /** Why the text cannot be applied as it stands. */
  unfit: string | null;
}

export const APPLY: Act<ApplyView> = {
  id: 'apply',
  label: 'Apply',
  icon: Upload,
  keys: 'Mod+s',
  on: 'playbook',
  permission: 'apply',
  danger: false,
  makes: false,
  tried: null,
  when: (view) => view.unfit,
  says: (view) => `'${view.path}' is started with this text from now on; what runs goes on as it began.`,
  fields: [],
  call: (view) => ({
    method: 'PUT',
    path: `${API}/playbooks/${encodeURIComponent(view.path)}`,
    body: { text: view.text },
    headers: inPlaceOf(view.replaces),
  }),
  cli: (view) => ['apply', `${view.path}.yaml`],
};
