/** Starting a playbook: one that is applied, or a text that is not. */
import { Play } from 'lucide-react';
import { API } from '../../api/client';
import type { Act, Doer } from '../act';
import { dryRun } from '../trying';
import type { Values } from './workload';

export interface StartView extends Doer {
  path: string;
  /** A text that is started as it stands, instead of what is applied. */
  text?: string;
  workload: Values | null;
  labels: Record<string, string>;
}

export const START: Act<StartView> = {
  id: 'start',
  label: 'Start',
  icon: Play,
  keys: 's',
  on: 'playbook',
  permission: 'start',
  danger: false,
  makes: true,
  tried: dryRun,
  when: (view) => (view.workload ? null : 'the workload is no JSON object'),
  says: (view) => `An execution of '${view.path}' begins.`,
  fields: [],
  call: (view) => ({
    method: 'POST',
    path: `${API}/executions`,
    body: {
      playbook: view.text === undefined ? view.path : { text: view.text },
      workload: view.workload ?? {},
      labels: view.labels,
    },
  }),
  cli: (view) => [
    ...(view.text === undefined ? ['start', view.path] : ['run', `${view.path}.yaml`]),
    '--workload',
    JSON.stringify(view.workload ?? {}),
    ...Object.entries(view.labels).flatMap(([name, value]) => ['--label', `${name}=${value}`]),
  ],
};
