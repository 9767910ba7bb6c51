import { useMediaQuery } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useLocation, useMatches, useNavigate } from '@tanstack/react-router';
import { ChevronDown, LogOut, Moon, Search, Sun, UserRound } from 'lucide-react';
import { lazy, Suspense, useState, useSyncExternalStore } from 'react';
import { logOut, me, meta } from '../../api/calls';
import { basePath } from '../../api/client';
import { connection } from '../../api/connection';
import { openOf, workItemCounts } from '../../api/items';
import { keys } from '../../api/keys';
import { problemOf } from '../../api/problems';
import type { Me } from '../../api/shapes';
import {
  Button,
  ErrorBox,
  IconButton,
  Kbd,
  MenuButton,
  number,
  Skeleton,
  shortTime,
  toast,
  useKeys,
} from '../../kit';
import { turnDensity, useDensity } from '../../kit/density';
import { type Raw, unread } from '../../kit/search';
import { turnTheme, useTheme } from '../../kit/theme';
import { Help } from './Help';
import { isWithin, NAV, split } from './nav';
import css from './shell.module.css';

/** Fetched when it is first asked for: a page that nobody searches on does not wait for it. */
const Palette = lazy(() => import('./Palette'));

/** The frame of every page. */
export function Shell() {
  const [helps, setHelps] = useState(false);
  const [asked, setAsked] = useState({ times: 0, text: '' });
  const openPalette = (text = '') => setAsked(({ times }) => ({ times: times + 1, text }));
  const navigate = useNavigate();
  const who = useQuery({ queryKey: keys.me, queryFn: me, staleTime: Number.POSITIVE_INFINITY });
  useKeys([
    { keys: 'Mod+k', label: 'Search or run a command', run: () => openPalette(), always: true },
    { keys: '.', label: 'Acts on what is selected', run: () => openPalette('>') },
    { keys: '?', label: 'Show the keys', run: () => setHelps(true) },
    ...NAV.map(({ to, label, key }) => ({
      keys: `g ${key}`,
      label: `Go to ${label}`,
      run: () => void navigate({ to }),
    })),
  ]);
  if (who.error && !who.data) return <ErrorBox error={who.error} retry={() => void who.refetch()} />;
  return (
    <div className={css.shell}>
      <a className={css.skip} href="#page">
        Skip to the page
      </a>
      <Header who={who.data} onSearch={() => openPalette()} />
      <Unread />
      <main id="page" className={css.page} tabIndex={-1}>
        <Suspense fallback={<Skeleton lines={10} />}>
          {who.data ? <Outlet /> : <Skeleton lines={10} />}
        </Suspense>
      </main>
      <StatusLine onHelp={() => setHelps(true)} />
      <Suspense fallback={null}>{asked.times ? <Palette asked={asked} /> : null}</Suspense>
      {helps ? <Help onClose={() => setHelps(false)} /> : null}
    </div>
  );
}

function Header({ who, onSearch }: { who: Me | undefined; onSearch: () => void }) {
  const theme = useTheme();
  const path = useLocation({ select: (at) => at.pathname });
  const navigate = useNavigate();
  const isWide = useMediaQuery('(min-width: 760px)', window.innerWidth >= 760);
  const { shown, more } = split(isWide ? 760 : 0);
  const here = more.find((entry) => isWithin(entry, path));
  return (
    <header className={css.header}>
      <Link to="/executions" className={css.brand} aria-label="Petra">
        <img src="icon.svg" alt="" width={20} height={20} />
        <span>Petra</span>
      </Link>
      <nav aria-label="Pages" className={css.nav}>
        {shown.map((entry) => (
          <Link key={entry.to} to={entry.to} data-here={isWithin(entry, path) || undefined}>
            {entry.label}
            {entry.to === '/inbox' ? <Waiting /> : null}
          </Link>
        ))}
        <span data-here={here ? true : undefined}>
          <MenuButton
            label="More pages"
            items={more.map((entry) => ({
              id: entry.to,
              label: entry.label,
              onClick: () => void navigate({ to: entry.to }),
            }))}
          >
            {(isWide && here?.label) || 'More'}
            <ChevronDown size={14} aria-hidden />
          </MenuButton>
        </span>
      </nav>
      <span className="grow" />
      <span className={css.search}>
        <Button icon={Search} onClick={onSearch} label="Search or run a command">
          <span className={css.wide}>Search or run a command&ensp;</span>
          <Kbd>Ctrl K</Kbd>
        </Button>
      </span>
      <IconButton label={theme === 'dark' ? 'Light theme' : 'Dark theme'} onClick={turnTheme}>
        {theme === 'dark' ? <Sun size={16} /> : <Moon size={16} />}
      </IconButton>
      <User who={who} />
    </header>
  );
}

/** Who is here; who came in by a log-in can go by a log-out. */
export function User({ who }: { who: Me | undefined }) {
  if (!who?.csrf) return <span className={`${css.user} muted data`}>{who?.name}</span>;
  const leave = () =>
    logOut().then(
      () => location.assign(`${basePath()}/login`),
      (problem: unknown) => toast('You are still logged in', problemOf(problem).message, 'failed'),
    );
  const roles = who.roles.length ? ` (${who.roles.join(', ')})` : '';
  return (
    <MenuButton
      label={`You are ${who.name}${roles}`}
      items={[{ id: 'out', label: 'Log out', icon: LogOut, onClick: () => void leave() }]}
    >
      <UserRound size={16} aria-hidden className={css.slim} />
      <span className={`${css.user} ${css.wide} data`}>{who.name}</span>
    </MenuButton>
  );
}

/** What the address says that cannot be read: the page is shown as if it did not say so. */
function Unread() {
  const raw = useLocation({ select: (at) => at.search as Raw });
  const read = useMatches({ select: (all) => all.at(-1)?.search as Raw | undefined });
  const bad = unread(raw, read ?? {});
  if (!bad.length) return null;
  return (
    <p className={css.notice} role="status">
      The address says <code className="data">{bad.join(' ')}</code>, which cannot be read: it is left out.
    </p>
  );
}

const ASK_MS = 15_000;
/** How often it is asked whether the server is there, and which one: now and then, and soon while it is away. */
const META_MS = 60_000;
const AGAIN_MS = 5_000;

/** How many work items wait for somebody. */
function Waiting() {
  const found = useQuery({
    queryKey: keys.workItemCounts,
    queryFn: () => workItemCounts(),
    refetchInterval: ASK_MS,
    retry: false,
  });
  const open = openOf(found.data);
  return open ? <b className={css.count}>{open}</b> : null;
}

const WORDS = {
  live: 'connected',
  polling: 'connected, asking every 2 s',
  connecting: 'connecting…',
  offline: 'offline',
} as const;

/** Ask the server how it is, and say how long it took to tell. */
async function asked(): Promise<Awaited<ReturnType<typeof meta>>> {
  const begun = performance.now();
  const told = await meta();
  connection.took(Math.max(1, Math.round(performance.now() - begun)));
  return told;
}

function StatusLine({ onHelp }: { onHelp: () => void }) {
  const now = useSyncExternalStore(connection.subscribe, connection.get);
  const isOff = now.line === 'offline';
  useQuery({
    queryKey: keys.meta,
    queryFn: asked,
    refetchInterval: isOff ? AGAIN_MS : META_MS,
    retry: false,
  });
  const density = useDensity();
  return (
    <footer className={css.status} data-line={now.line}>
      <span role="status" data-testid="connection">
        <i aria-hidden /> {WORDS[now.line]}
        {isOff && now.heard ? ` · as of ${shortTime(new Date(now.heard).toISOString())}` : ''}
      </span>
      {now.line === 'live' && now.lag !== null ? (
        <span title="How long the server took to answer">{number(now.lag)} ms</span>
      ) : null}
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
