import { Spotlight, spotlight } from '@mantine/spotlight';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { search } from '../../api/calls';
import type { Hit } from '../../api/shapes';
import { Kbd } from '../../kit';
import { type Command, commands, fits, modeOf } from '../../kit/commands';
import { bindings } from '../../kit/keyboard';
import { turnTheme } from '../../kit/theme';
import { NAV } from './nav';

const MOST = 12;

/** Search and commands in one place: `Ctrl K`. It opens whenever it is asked for once more. */
export default function Palette({ asked }: { asked: { times: number; text: string } }) {
  const [text, setText] = useState('');
  useEffect(() => {
    setText(asked.text);
    spotlight.open();
  }, [asked]);
  const navigate = useNavigate();
  const mode = modeOf(text);
  const finds = (mode.kind === 'all' || mode.kind === 'executions') && mode.rest.length > 1;
  const hits = useQuery({
    queryKey: ['search', mode.rest],
    queryFn: () => search(mode.rest),
    enabled: finds,
  });
  const pages: Command[] = NAV.map((entry) => ({
    id: `page ${entry.to}`,
    label: entry.label,
    group: 'Pages',
    run: () => void navigate({ to: entry.to }),
  }));
  const own: Command[] = [
    { id: 'theme', label: 'Light or dark', more: 'theme', group: 'Acts', run: turnTheme },
  ];
  const record = Number(mode.rest);
  const found = [...commands(), ...pages, ...own].filter((one) => fits(one, mode)).slice(0, MOST);
  const go = (hit: Hit) => {
    if (hit.kind === 'execution') void navigate({ to: '/e/$id', params: { id: hit.id } });
    else if (hit.kind === 'playbook') void navigate({ href: `/p/${encodeURIComponent(hit.id)}` });
    else void navigate({ href: `/inbox?box=all&item=${encodeURIComponent(hit.id)}` });
  };
  return (
    <Spotlight.Root query={text} onQueryChange={setText} shortcut={null} clearQueryOnClose lockScroll={false}>
      <Spotlight.Search
        placeholder="Words, > acts, # executions, @ steps, :44 a record, ? keys"
        aria-label="Command"
      />
      <Spotlight.ActionsList>
        {mode.kind === 'keys'
          ? bindings().map((one) => (
              <Spotlight.Action key={`${one.keys} ${one.label}`} onClick={one.run}>
                <span className="row">
                  <Kbd>{one.keys}</Kbd> {one.label}
                </span>
              </Spotlight.Action>
            ))
          : null}
        {found.map((one) => (
          <Spotlight.Action key={one.id} onClick={one.run} label={one.label} description={one.group} />
        ))}
        {mode.kind === 'record' && Number.isInteger(record) && record > 0 ? (
          <Spotlight.Action
            label={`Record ${record}`}
            onClick={() => void navigate({ to: '.', search: (was: object) => ({ ...was, at: record }) })}
          />
        ) : null}
        {(finds ? (hits.data ?? []) : []).map((hit) => (
          <Spotlight.Action
            key={`${hit.kind} ${hit.id}`}
            onClick={() => go(hit)}
            label={hit.title}
            description={`${hit.kind} ${hit.id}`}
          />
        ))}
        {found.length === 0 && !hits.data?.length && mode.kind !== 'keys' && mode.kind !== 'record' ? (
          <Spotlight.Empty>Nothing fits</Spotlight.Empty>
        ) : null}
      </Spotlight.ActionsList>
    </Spotlight.Root>
  );
}
