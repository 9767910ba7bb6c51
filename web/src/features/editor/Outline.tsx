import type { Checked } from '../../api/authoring';
import css from './editor.module.css';

interface Props {
  steps: Checked['outline'];
  /** The step that the cursor is in. */
  here: string | null;
  onLine: (line: number) => void;
}

/** The steps of the text, in its order: each leads to its line. */
export function Outline({ steps, here, onLine }: Props) {
  return (
    <nav className={css.outline} aria-label="Outline">
      <ol>
        {steps.map(({ step, line }) => (
          <li key={`${step} ${line}`}>
            <button
              type="button"
              className="cut data"
              title={`${step}, line ${line}`}
              aria-current={step === here || undefined}
              onClick={() => onLine(line)}
            >
              {step}
            </button>
          </li>
        ))}
      </ol>
    </nav>
  );
}
