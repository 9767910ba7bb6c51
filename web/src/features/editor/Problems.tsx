import type { Finding } from '../../api/authoring';
import type { Fix } from './diagnostics';
import css from './editor.module.css';

interface Props {
  found: readonly Finding[];
  onLine: (line: number) => void;
  onFix: (fix: Fix) => void;
}

/** What is wrong with the text: where, what, and what would mend it. */
export function Problems({ found, onLine, onFix }: Props) {
  if (!found.length) return null;
  return (
    <ul className={css.problems} aria-label="Problems">
      {found.map((one) => (
        <li key={`${one.code} ${one.line} ${one.column} ${one.message}`} data-severity={one.severity}>
          <button type="button" onClick={() => onLine(one.line)}>
            <span className="mono">{one.line}</span> {one.severity} <strong>{one.code}</strong>{' '}
            <span className="data">{one.message}</span>
            {one.hint ? <span className="muted data"> {one.hint}</span> : null}
          </button>
          {one.fixes.map((fix) => (
            <button key={fix.title} type="button" className={css.fix} onClick={() => onFix(fix)}>
              Fix: <span className="data">{fix.title}</span>
            </button>
          ))}
        </li>
      ))}
    </ul>
  );
}
