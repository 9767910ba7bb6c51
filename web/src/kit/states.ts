/** Every word for a state, with its colour and its icon: never a colour alone. */
import {
  Ban,
  CircleCheck,
  CircleDashed,
  CircleDotDashed,
  CirclePause,
  Clock,
  CornerDownRight,
  Hourglass,
  ListOrdered,
  LoaderCircle,
  Lock,
  type LucideIcon,
  OctagonX,
  Radio,
  TriangleAlert,
  Undo2,
  UserRound,
} from 'lucide-react';

export const TOKENS = ['idle', 'running', 'waiting', 'done', 'partial', 'failed', 'stuck'] as const;
export type Token = (typeof TOKENS)[number];

export interface Look {
  token: Token;
  icon: LucideIcon;
  word: string;
}

const WAITS: Record<string, LucideIcon> = {
  human: UserRound,
  timer: Clock,
  time: Clock,
  signal: Radio,
  gate: Lock,
  child: CornerDownRight,
  limit: ListOrdered,
  resource: ListOrdered,
};

const LOOKS: Record<string, [Token, LucideIcon, string?]> = {
  idle: ['idle', CircleDashed, 'not reached'],
  to_go: ['idle', CircleDashed, 'to go'],
  running: ['running', LoaderCircle],
  in_flight: ['running', LoaderCircle, 'in flight'],
  compensating: ['running', Undo2],
  waiting: ['waiting', Hourglass],
  ready: ['waiting', Hourglass, 'ready'],
  paused: ['waiting', CirclePause],
  completed: ['done', CircleCheck, 'done'],
  done: ['done', CircleCheck],
  ok: ['done', CircleCheck],
  partial: ['partial', CircleDotDashed],
  failed: ['failed', OctagonX],
  aborted: ['idle', Ban],
  cancelled: ['idle', Ban],
  withdrawn: ['idle', Ban],
  returned: ['idle', Undo2],
  stuck: ['stuck', TriangleAlert],
  incident: ['stuck', TriangleAlert],
};

/** How a state looks; one that nobody knows is shown by its own name, and as nothing particular. */
export function lookOf(status: string, reason = ''): Look {
  const [token, icon, word] = LOOKS[status] ?? ['idle', CircleDashed];
  if (status === 'waiting' && reason === 'incident')
    return { token: 'stuck', icon: TriangleAlert, word: 'incident' };
  const waits = status === 'waiting' ? WAITS[reason] : undefined;
  return { token, icon: waits ?? icon, word: word ?? status };
}

export const OVER = new Set(['completed', 'partial', 'failed', 'aborted']);
