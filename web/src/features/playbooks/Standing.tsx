import { useQuery } from '@tanstack/react-query';
import { CircleCheck, CircleHelp, OctagonX } from 'lucide-react';
import { keys } from '../../api/keys';
import { type Standing, standing } from '../../api/running';
import css from './playbooks.module.css';

/** The statuses of executions that are not over: stuck ones wait for somebody. */
export const OPEN = ['running', 'waiting', 'paused', 'compensating', 'stuck'];

const VERDICTS = {
  sound: { icon: CircleCheck, word: 'sound' },
  unsound: { icon: OctagonX, word: 'not sound' },
  undecided: { icon: CircleHelp, word: 'open' },
} as const;

/** Executions come and go: how a playbook stands is asked for so often while it is looked at. */
const STANDS_MS = 15_000;

export function useStanding(path: string) {
  return useQuery({
    queryKey: keys.standing(path),
    queryFn: () => standing(path),
    staleTime: 10_000,
    refetchInterval: STANDS_MS,
  });
}

/** Whether a net is sound: an icon and a word; what was found of it where it is pointed at. */
export function Verdict({ proof }: { proof: Standing['proof'] }) {
  const { icon: Icon, word } = VERDICTS[proof.verdict];
  const gated = proof.verdict === 'sound' && proof.gated;
  return (
    <span
      className={css.proof}
      data-verdict={proof.verdict}
      title={proof.words || (gated ? 'sound if its guards allow' : undefined)}
    >
      <Icon size={14} strokeWidth={1.75} aria-hidden />
      {word}
      {gated ? <span className="muted"> if guards allow</span> : null}
    </span>
  );
}
