import { TOKENS, tallyOf } from '../side/maps';
import { useTurns } from '../side/useTurns';
import css from './graph.module.css';

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
const ORDER = [3, 2, 1, 4];

/** How far a loop is, as a ring: failed, done, in flight, cancelled; the rest is to go. */
export function Ring({ id, run, last, seq }: Looping) {
  const { turns } = useTurns(id, run, last);
  if (!turns?.count) return null;
  const { counts } = tallyOf(turns, seq);
  const ended = (counts[2] ?? 0) + (counts[3] ?? 0);
  let gone = 0;
  const parts = ORDER.map((state) => {
    const share = (counts[state] ?? 0) / turns.count;
    const part = { state, share, from: gone };
    gone += share;
    return part;
  }).filter((part) => part.share > 0);
  return (
    <svg
      className={css.ring}
      viewBox="-12 -12 24 24"
      role="img"
      aria-label={`${ended} of ${turns.count} ended`}
    >
      <title>{`${ended} of ${turns.count} ended`}</title>
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
