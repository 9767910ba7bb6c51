import { useQuery } from '@tanstack/react-query';
import { memo, useMemo } from 'react';
import { keys } from '../../api/keys';
import { choices } from '../../api/running';
import { Check, Choice, duration, Segmented, TextArea, TextField } from '../../kit';
import type { ScheduleForm, Wrong } from './form';
import css from './schedules.module.css';

const RHYTHM = [
  { value: 'cron', label: 'Cron' },
  { value: 'every_s', label: 'Interval' },
  { value: 'at', label: 'At dates' },
] as const;

const OVERLAP = [
  { value: 'skip', label: 'skip: the time is passed over' },
  { value: 'queue', label: 'queue: one after the other' },
  { value: 'cancel_running', label: 'cancel_running: it is stopped first' },
  { value: 'allow', label: 'allow: both go on' },
] as const;

interface Props {
  form: ScheduleForm;
  wrong: Wrong;
  isNew: boolean;
  /** It was paused or resumed by hand: its text does not say which. */
  steered: 'paused' | 'resumed' | null;
  onChange: (name: keyof ScheduleForm, value: string | boolean) => void;
}

/** Seconds, in words beside them. */
function long(seconds: string): string {
  const given = Number(seconds);
  return seconds.trim() && given > 0 ? `seconds: ${duration(given * 1000)}` : 'seconds';
}

export function ScheduleFields({ form, wrong, isNew, steered, onChange }: Props) {
  const text = (name: Exclude<keyof ScheduleForm, 'paused'>) => ({
    name,
    value: form[name],
    error: wrong[name],
    onChange: (value: string) => onChange(name, value),
  });
  return (
    <div className={css.fields}>
      {isNew ? <TextField label="Name" {...text('name')} required placeholder="nightly" /> : null}
      <Playbook {...text('playbook')} />
      <TextField
        label="Version"
        description="of the playbook; empty: the one that is current when it is started"
        {...text('version')}
        mono
      />
      <Segmented
        label="When"
        value={form.rhythm}
        onChange={(value) => onChange('rhythm', value)}
        options={RHYTHM}
      />
      {form.rhythm === 'cron' ? (
        <TextField
          label="Cron line"
          description="minute, hour, day of month, month, day of week; or @daily"
          {...text('cron')}
          required
          mono
        />
      ) : null}
      {form.rhythm === 'every_s' ? (
        <TextField label="Every" description={long(form.every_s)} {...text('every_s')} required mono />
      ) : null}
      {form.rhythm === 'at' ? (
        <TextArea
          label="Dates"
          description="one in a line, such as 2026-12-24T18:00"
          {...text('at')}
          required
          mono
        />
      ) : null}
      <Zone {...text('timezone')} />
      <Choice
        label="While the one before goes on"
        value={form.overlap}
        onChange={(value) => onChange('overlap', value)}
        options={OVERLAP as readonly { value: string; label: string }[]}
      />
      <div className={css.pair}>
        <TextField label="Catch up" description={long(form.catch_up_s)} {...text('catch_up_s')} mono />
        <TextField label="Jitter" description={long(form.jitter_s)} {...text('jitter_s')} mono />
      </div>
      <TextArea label="Workload" description="a JSON object" {...text('workload')} mono rows={4} />
      {steered ? (
        <p className="muted">
          It was {steered} by hand. {steered === 'paused' ? 'Resume' : 'Pause'} it on its card.
        </p>
      ) : (
        <Check label="Paused" checked={form.paused} onChange={(value) => onChange('paused', value)} />
      )}
    </div>
  );
}

interface TextProps {
  name: string;
  value: string;
  error: string | undefined;
  onChange: (value: string) => void;
}

function Playbook(props: TextProps) {
  const found = useQuery({ queryKey: keys.playbooks, queryFn: choices });
  const paths = useMemo(() => found.data?.items.map((one) => one.path) ?? [], [found.data]);
  const isAll = found.data !== undefined && found.data.next === null;
  const given = props.value.trim();
  const unknown = isAll && given && !paths.includes(given);
  return (
    <>
      <TextField
        label="Playbook"
        required
        list="playbook-paths"
        description={
          unknown ? 'none of that path is applied yet: until then nothing can be started' : 'its path'
        }
        {...props}
      />
      <Words id="playbook-paths" words={paths} />
    </>
  );
}

function Zone(props: TextProps) {
  const zones = useMemo(() => ['UTC', ...Intl.supportedValuesOf('timeZone')], []);
  return (
    <>
      <TextField label="Time zone" description="by whose clocks" list="time-zones" {...props} />
      <Words id="time-zones" words={zones} />
    </>
  );
}

/** Words that a field offers while one types: hundreds, which are the same whatever is typed. */
const Words = memo(({ id, words }: { id: string; words: readonly string[] }) => (
  <datalist id={id}>
    {words.map((one) => (
      <option key={one} value={one} />
    ))}
  </datalist>
));
