import { useMediaQuery } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useLocation, useNavigate } from '@tanstack/react-router';
import { Moon, Search, Sun } from 'lucide-react';
import { lazy, Suspense, useState, useSyncExternalStore } from 'react';
import { me, meta } from '../../api/calls';
import { connection } from '../../api/connection';
import { OPEN_STATES, workItemCounts } from '../../api/items';
import { keys } from '../../api/keys';
import { Button, ErrorBox, IconButton, Kbd, MenuButton, Skeleton, shortTime, useKeys } from '../../kit';
import { turnDensity, useDensity } from '../../kit/density';
import { turnTheme, useTheme } from '../../kit/theme';
import { Help } from './Help';
import { split } from './nav';
import css from './shell.module.css';

/** Fetched when it is first asked for: a page that nobody searches on does not wait for it. */
const Palette = lazy(() => import('./Palette'));

/** The frame of every page. */
export function Shell() {
  const [helps, setHelps] = useState(false);
  const [asked, setAsked] = useState(0);
  const openPalette = () => setAsked((was) => was + 1);
  const who = useQuery({ queryKey: keys.me, queryFn: me, staleTime: Number.POSITIVE_INFINITY });
  useQuery({ queryKey: keys.meta, queryFn: meta, refetchInterval: 60_000 });
  useKeys([
    { keys: 'Mod+k', label: 'Search or run a command', run: openPalette, always: true },
    { keys: '?', label: 'Show the keys', run: () => setHelps(true) },
  ]);
  if (who.isError) return <ErrorBox error={who.error} retry={() => void who.refetch()} />;
  return (
    <div className={css.shell}>
      <a className={css.skip} href="#page">
        Skip to the page
      </a>
      <Header name={who.data?.name ?? ''} onSearch={openPalette} />
      <main id="page" className={css.page} tabIndex={-1}>
        <Suspense fallback={<Skeleton lines={10} />}>
          {who.data ? <Outlet /> : <Skeleton lines={10} />}
        </Suspense>
      </main>
      <StatusLine onHelp={() => setHelps(true)} />
      <Suspense fallback={null}>{asked ? <Palette asked={asked} /> : null}</Suspense>
      {helps ? <Help onClose={() => setHelps(false)} /> : null}
    </div>
  );
}

function Header({ name, onSearch }: { name: string; onSearch: () => void }) {
  const theme = useTheme();
  const path = useLocation({ select: (at) => at.pathname });
  const navigate = useNavigate();
  const isWide = useMediaQuery('(min-width: 760px)', window.innerWidth >= 760);
  const { shown, more } = split(isWide ? 760 : 0);
  return (
    <header className={css.header}>
      <Link to="/executions" className={css.brand} aria-label="Petra">
        <img src="icon.svg" alt="" width={20} height={20} />
        <span>Petra</span>
      </Link>
      <nav aria-label="Pages" className={css.nav}>
        {shown.map((entry) => (
          <Link key={entry.to} to={entry.to} data-here={path.startsWith(entry.to) || undefined}>
            {entry.label}
            {entry.to === '/inbox' ? <Waiting /> : null}
          </Link>
        ))}
        <MenuButton
          label="More pages"
          items={more.map((entry) => ({
            id: entry.to,
            label: entry.label,
            onClick: () => void navigate({ to: entry.to }),
          }))}
        >
          {(isWide && more.find((entry) => path.startsWith(entry.to))?.label) || 'More'}
        </MenuButton>
      </nav>
      <span className="grow" />
      <Button icon={Search} onClick={onSearch} label="Search or run a command">
        <span className={css.wide}>Search or run a command&ensp;</span>
        <Kbd>Ctrl K</Kbd>
      </Button>
      <IconButton label={theme === 'dark' ? 'Light theme' : 'Dark theme'} onClick={turnTheme}>
        {theme === 'dark' ? <Sun size={16} /> : <Moon size={16} />}
      </IconButton>
      <span className={`${css.user} muted data`}>{name}</span>
    </header>
  );
}

const ASK_MS = 15_000;

/** How many work items wait for somebody. */
function Waiting() {
  const found = useQuery({
    queryKey: keys.workItemCounts,
    queryFn: workItemCounts,
    refetchInterval: ASK_MS,
    retry: false,
  });
  const open = Object.entries(found.data ?? {})
    .filter(([state]) => OPEN_STATES.has(state))
    .reduce((sum, [, number]) => sum + number, 0);
  return open ? <b className={css.count}>{open}</b> : null;
}

const WORDS = {
  live: 'connected',
  polling: 'connected, asking every 2 s',
  connecting: 'connecting…',
  offline: 'offline',
} as const;

function StatusLine({ onHelp }: { onHelp: () => void }) {
  const now = useSyncExternalStore(connection.subscribe, connection.get);
  const isOff = now.line === 'offline';
  const density = useDensity();
  return (
    <footer className={css.status} data-line={now.line}>
      <span role="status" data-testid="connection">
        <i aria-hidden /> {WORDS[now.line]}
        {isOff && now.heard ? ` · as of ${shortTime(new Date(now.heard).toISOString())}` : ''}
      </span>
      {now.first !== null && now.first !== now.server ? (
        <button type="button" onClick={() => location.reload()}>
          The server was updated: reload
        </button>
      ) : null}
      <span className="grow" />
      <span>{now.server ? `petra ${now.server}` : ''}</span>
      <button type="button" onClick={turnDensity} aria-label={`Density: ${density}`}>
        {density}
      </button>
      <button type="button" onClick={onHelp}>
        ? keys
      </button>
    </footer>
  );
}
