/** Small things that every page is made of. */
import { Copy } from 'lucide-react';
import type { ReactNode } from 'react';
import type { Problem } from '../api/problems';
import { problemOf } from '../api/problems';
import { Code } from './Code';
import { IconButton } from './controls';
import { duration, fullTime, shortTime } from './format';
import css from './kit.module.css';
import { toast } from './toast';

export function Kbd({ children }: { children: string }) {
  return <kbd className={css.kbd}>{children}</kbd>;
}

const END = 9;
const LOW = /^[\udc00-\udfff]/;

/** A name in two: what may be cut short, and its last letters. */
function ended(name: string): [string, string] {
  if (name.length <= 2 * END) return [name, ''];
  const at = name.length - (LOW.test(name.slice(-END)) ? END - 1 : END); // a letter stays whole
  return [name.slice(0, at), name.slice(at)];
}

/** A name, cut short in its middle where there is no room for it: names of one kind differ at their ends. */
export function Name({ children, title = children }: { children: string; title?: string }) {
  const [head, tail] = ended(children);
  return (
    <span className={css.name} title={title}>
      <span>{head}</span>
      {tail ? <span>{tail}</span> : null}
    </span>
  );
}

/** A moment, short; whole where it is pointed at. */
export function Time({ at, now }: { at: string | null | undefined; now?: number }) {
  if (!at) return <span className="muted">–</span>;
  return (
    <time dateTime={at} title={fullTime(at)}>
      {shortTime(at, now)}
    </time>
  );
}

export function Duration({ ms }: { ms: number | null | undefined }) {
  return <span>{ms === null || ms === undefined ? '–' : duration(ms)}</span>;
}

/** Put something onto the clipboard, and say so. */
export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast('Copied', text.length > 80 ? `${text.slice(0, 80)}…` : text);
  } catch {
    toast('It could not be copied', 'the browser did not let us; select it and copy it by hand', 'failed');
  }
}

/** A line of text to be copied: a command, an address. */
export function Copyable({ text, label }: { text: string; label: string }) {
  return (
    <span className={css.copyable}>
      <pre>{text}</pre>
      <IconButton label={`Copy ${label}`} onClick={() => void copy(text)}>
        <Copy size={14} />
      </IconButton>
    </span>
  );
}

/** Nothing is here: what it is, what to type, what to press. */
export function Empty(props: { title: string; children?: ReactNode; command?: string; act?: ReactNode }) {
  return (
    <div className={css.empty}>
      <h2>{props.title}</h2>
      {props.children}
      {props.command ? <Copyable text={props.command} label="the command" /> : null}
      {props.act}
    </div>
  );
}

/** The place of something that is on its way; it shows only if that takes a while. */
export function Skeleton({ lines = 6 }: { lines?: number }) {
  const widths = Array.from({ length: lines }, (_, n) => ({
    id: `line-${n}`,
    width: `${95 - ((n * 37) % 50)}%`,
  }));
  return (
    <div className={css.skeleton} role="status" aria-label="loading">
      {widths.map((one) => (
        <i key={one.id} style={{ width: one.width }} />
      ))}
    </div>
  );
}

function told(problem: Problem): string {
  const { title, status, code, detail, hint } = problem.body;
  return `${title} (${code}, ${status})\n${detail}\n${hint}`;
}

interface Nowhere {
  title: string;
  detail?: string;
  /** What the server calls it, where it was the server that said so. */
  code?: string;
  retry?: () => void;
}

/** An address that leads nowhere is nobody's failure: it is said quietly, with a way back. */
export function NotHere({ title, detail = '', code = '', retry }: Nowhere) {
  return (
    <div className={css.empty} role="status">
      <h2>{title}</h2>
      {detail ? <p className="muted data">{detail}</p> : null}
      {code ? <code>{code}</code> : null}
      <div className="row">
        <button type="button" className={css.link} onClick={() => history.back()}>
          Go back
        </button>
        {retry ? (
          <button type="button" className={css.link} onClick={retry}>
            Retry
          </button>
        ) : null}
        <a href="executions">All executions</a>
      </div>
    </div>
  );
}

/** What went wrong: title, code, next move. Whoever may not is told what is missing, and whom to ask. */
export function ErrorBox({ error, retry }: { error: unknown; retry?: () => void }) {
  const problem = problemOf(error);
  const { title, detail, hint, code } = problem.body;
  const forbidden = code === 'forbidden';
  return (
    <div className={css.error} role="alert">
      <div className="stack tight">
        <h2>{title}</h2>
        <p className="data">{detail}</p>
        <p className="muted">
          {forbidden ? 'Ask an administrator of this namespace for a role that may.' : hint}{' '}
          <Code of={problem.body} />
        </p>
        <div className="row">
          {retry ? (
            <button type="button" className={css.link} onClick={retry}>
              Retry
            </button>
          ) : null}
          <button type="button" className={css.link} onClick={() => void copy(told(problem))}>
            Copy details
          </button>
        </div>
      </div>
    </div>
  );
}
