import type { Heat } from '../../api/running';
import { lookOf } from '../../kit';
import css from './playbooks.module.css';

/** How the last executions ended: a bar each, newest on the right; the word stands beside the colour. */
export function Outcomes({ last }: { last: Heat['last'] }) {
  if (!last.length) return <span className="muted">never ran</span>;
  const said = last.map((one) => one.status).join(', ');
  return (
    <span className={css.outcomes} role="img" aria-label={`newest first: ${said}`} title={said}>
      {[...last].reverse().map((one) => (
        <i key={one.id} data-token={lookOf(one.status).token} />
      ))}
    </span>
  );
}
