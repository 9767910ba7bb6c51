/** The pages and their addresses. A page is loaded when it is gone to; its search parameters are checked here. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { me } from './api/calls';
import { basePath } from './api/client';
import { keys } from './api/keys';
import { problemOf } from './api/problems';
import { editorSearch } from './features/editor/search';
import { compareSearch } from './features/execution/compare/search';
import { executionSearch } from './features/execution/search';
import { executionsSearch } from './features/executions/search';
import { inboxSearch } from './features/inbox/search';
import { notificationsSearch } from './features/notifications/search';
import { playbookSearch, playbooksSearch } from './features/playbooks/search';
import { schedulesSearch } from './features/schedules/search';
import { Shell } from './features/shell/Shell';
import { makeQueries } from './features/shell/Surroundings';
import { systemSearch } from './features/system/search';
import { ErrorBox, NotHere } from './kit';
import { parseSearch, stringifySearch, text } from './kit/search';

export const queries = makeQueries();

const root = createRootRoute({
  component: Outlet,
  errorComponent: ({ error }) => <ErrorBox error={error} retry={() => location.reload()} />,
});

const login = createRoute({
  getParentRoute: () => root,
  path: '/login',
  validateSearch: (raw): { to?: string; used?: string } => ({ to: text(raw, 'to'), used: text(raw, 'used') }),
  component: lazyRouteComponent(() => import('./features/shell/LoginPage'), 'Page'),
});

/** Everything behind the door: who is not known is asked who they are. */
const inside = createRoute({
  getParentRoute: () => root,
  id: 'inside',
  component: Shell,
  beforeLoad: async ({ location }) => {
    try {
      await queries.ensureQueryData({ queryKey: keys.me, queryFn: me });
    } catch (error) {
      if (problemOf(error).code === 'no-credentials') {
        throw redirect({ to: '/login', search: { to: location.href } });
      }
    }
  },
});

const home = createRoute({
  getParentRoute: () => inside,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/executions' });
  },
});

const executions = createRoute({
  getParentRoute: () => inside,
  path: '/executions',
  validateSearch: executionsSearch,
  component: lazyRouteComponent(() => import('./features/executions/ExecutionsPage'), 'Page'),
});

const execution = createRoute({
  getParentRoute: () => inside,
  path: '/e/$id',
  validateSearch: executionSearch,
  component: lazyRouteComponent(() => import('./features/execution/ExecutionPage'), 'Page'),
});

const compare = createRoute({
  getParentRoute: () => inside,
  path: '/e/$id/diff/$other',
  validateSearch: compareSearch,
  component: lazyRouteComponent(() => import('./features/execution/compare/ComparePage'), 'Page'),
});

const inbox = createRoute({
  getParentRoute: () => inside,
  path: '/inbox',
  validateSearch: inboxSearch,
  component: lazyRouteComponent(() => import('./features/inbox/InboxPage'), 'Page'),
});

const playbooks = createRoute({
  getParentRoute: () => inside,
  path: '/playbooks',
  validateSearch: playbooksSearch,
  component: lazyRouteComponent(() => import('./features/playbooks/PlaybooksPage'), 'Page'),
});

const playbook = createRoute({
  getParentRoute: () => inside,
  path: '/p/$',
  validateSearch: playbookSearch,
  component: lazyRouteComponent(() => import('./features/playbooks/PlaybookPage'), 'Page'),
});

const editor = createRoute({
  getParentRoute: () => inside,
  path: '/edit/$',
  validateSearch: editorSearch,
  component: lazyRouteComponent(() => import('./features/editor/EditorPage'), 'Page'),
});

const schedules = createRoute({
  getParentRoute: () => inside,
  path: '/schedules',
  validateSearch: schedulesSearch,
  component: lazyRouteComponent(() => import('./features/schedules/SchedulesPage'), 'Page'),
});

const triggers = createRoute({
  getParentRoute: () => inside,
  path: '/triggers',
  component: lazyRouteComponent(() => import('./features/triggers/TriggersPage'), 'Page'),
});

const notifications = createRoute({
  getParentRoute: () => inside,
  path: '/notifications',
  validateSearch: notificationsSearch,
  component: lazyRouteComponent(() => import('./features/notifications/NotificationsPage'), 'Page'),
});

const workers = createRoute({
  getParentRoute: () => inside,
  path: '/workers',
  component: lazyRouteComponent(() => import('./features/workers/WorkersPage'), 'Page'),
});

const system = createRoute({
  getParentRoute: () => inside,
  path: '/system',
  validateSearch: systemSearch,
  component: lazyRouteComponent(() => import('./features/system/SystemPage'), 'Page'),
});

/** Whatever else the address says: the frame of all pages stays, and there is a way back. */
const nowhere = createRoute({
  getParentRoute: () => inside,
  path: '$',
  component: () => <NotHere title="There is no such page" detail={location.pathname} />,
});

export const tree = root.addChildren([
  login,
  inside.addChildren([
    home,
    executions,
    execution,
    compare,
    playbooks,
    playbook,
    editor,
    inbox,
    schedules,
    triggers,
    notifications,
    workers,
    system,
    nowhere,
  ]),
]);

export const router = createRouter({
  routeTree: tree,
  basepath: basePath() || '/',
  parseSearch,
  stringifySearch,
  defaultPreload: 'intent',
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
