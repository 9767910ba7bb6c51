/** Two people changed a schedule: what each of them did, field by field, and both together. */
import type { ScheduleForm } from './form';

interface Part {
  label: string;
  keys: readonly (keyof ScheduleForm)[];
  said: (form: ScheduleForm) => string;
}

const one = (label: string, key: keyof ScheduleForm): Part => ({
  label,
  keys: [key],
  said: (form) => String(form[key]),
});

/** What is changed together is one part: a cron line is no use to somebody who chose an interval. */
const PARTS: readonly Part[] = [
  one('Playbook', 'playbook'),
  one('Version', 'version'),
  {
    label: 'When',
    keys: ['rhythm', 'cron', 'every_s', 'at'],
    said: (form) => `${form.rhythm}: ${form[form.rhythm]}`,
  },
  one('Time zone', 'timezone'),
  one('While the one before goes on', 'overlap'),
  one('Catch up', 'catch_up_s'),
  one('Jitter', 'jitter_s'),
  one('Workload', 'workload'),
  one('Paused', 'paused'),
];

export interface Difference {
  label: string;
  was: string;
  theirs: string;
  mine: string;
  /** Both changed it: only one of them can be had. */
  contested: boolean;
}

type Three = { was: ScheduleForm | null; theirs: ScheduleForm; mine: ScheduleForm };

/** Where mine and theirs differ, and what it was before both. */
export function differences({ was, theirs, mine }: Three): Difference[] {
  return PARTS.filter((part) => part.said(theirs) !== part.said(mine)).map((part) => ({
    label: part.label,
    was: was ? part.said(was) : '',
    theirs: part.said(theirs),
    mine: part.said(mine),
    contested: !was || (part.said(was) !== part.said(theirs) && part.said(was) !== part.said(mine)),
  }));
}

/** Mine, with what only they changed; where both did, mine stays. */
export function together({ was, theirs, mine }: Three): ScheduleForm {
  const merged = { ...mine };
  for (const part of PARTS) {
    if (was && part.said(was) !== part.said(mine)) continue;
    if (was) for (const key of part.keys) Object.assign(merged, { [key]: theirs[key] });
  }
  return merged;
}
