import type { ReactNode } from 'react';
import { number } from '../kit';
import css from './graph.module.css';
import { TOKENS, tallyOf } from './maps';
import { useTurns } from './useTurns';

export interface Looping {
  /** The execution, the run, the record in which that ended (0: it goes on), and the record that is shown. */
  id: string;
  run: number;
  last: number;
  seq: number;
}

const R = 9;
const ROUND = 2 * Math.PI * R;
/** Failed first, for nobody should have to look for them. */
const FAILED = 3;
const ORDER = [FAILED, 2, 1, 4];
/** One of a thousand is seen, too. */
const SEEN = 0.06;

/** How far a loop is, in words and as a ring: failed, done, in flight, cancelled; the rest is to go. Before that is known, what else there is to say. */
export function Loop({ id, run, last, seq, children }: Looping & { children: ReactNode }) {
  const { turns } = useTurns(id, run, last);
  if (!turns?.count) return children;
  const { counts } = tallyOf(turns, seq);
  const ended = (counts[2] ?? 0) + (counts[3] ?? 0);
  const words = loopInWords(turns.count, counts);
  return (
    <>
      <div className={`${css.fact} cut muted`} title={words}>
        {words}
      </div>
      <Ring counts={counts} count={turns.count} title={`${ended} of ${turns.count} ended`} />
    </>
  );
}

/** As much as a node has room for: how many have ended, and what one should know of the others. */
export function loopInWords(count: number, counts: readonly number[]): string {
  const [, inFlight = 0, ok = 0, failed = 0] = counts;
  const said = [`${number(ok + failed)} of ${number(count)}`];
  if (failed) said.push(`${number(failed)} failed`);
  else if (inFlight) said.push(`${number(inFlight)} in flight`);
  return said.join(' · ');
}

function Ring({ counts, count, title }: { counts: readonly number[]; count: number; title: string }) {
  let gone = 0;
  const parts = ORDER.map((state) => {
    const own = (counts[state] ?? 0) / count;
    const share = state === FAILED && own > 0 ? Math.max(own, SEEN) : own;
    const part = { state, share: Math.min(share, 1 - gone), from: gone };
    gone += share;
    return part;
  }).filter((part) => part.share > 0);
  return (
    <svg className={css.ring} viewBox="-12 -12 24 24" role="img" aria-label={title}>
      <title>{title}</title>
      <circle r={R} />
      {parts.map((part) => (
        <circle
          key={part.state}
          r={R}
          data-state={TOKENS[part.state]}
          strokeDasharray={`${part.share * ROUND} ${ROUND}`}
          strokeDashoffset={-part.from * ROUND}
        />
      ))}
    </svg>
  );
}
