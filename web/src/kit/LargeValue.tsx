import { Download } from 'lucide-react';
import { createContext, type ReactNode, useContext, useState } from 'react';
import { problemOf } from '../api/problems';
import type { Json, ValueRange } from '../api/shapes';
import { bytes, number } from './format';
import css from './kit.module.css';

export interface ValueSource {
  /** Fetch a part of a value, by the key of its reference and a JSON pointer into it. */
  fetch: (key: string, pointer: string, offset: number) => Promise<ValueRange>;
  /** Where it can be downloaded. */
  href: (key: string) => string;
}

/** Where large values are fetched from; without it a reference is shown as what it is. */
export const ValuesFrom = createContext<ValueSource | null>(null);

export interface ReferenceTold {
  key: string;
  size: number;
  path: (string | number)[];
}

/** The reference that stands in place of a large value; null where a value is none. */
export function referenceIn(value: Json | undefined): ReferenceTold | null {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return null;
  const { store, key, checksum, size, path } = value;
  if (typeof store !== 'string' || typeof key !== 'string' || typeof checksum !== 'string') return null;
  if (typeof size !== 'number') return null;
  const steps = Array.isArray(path) ? path.map((one) => (typeof one === 'number' ? one : String(one))) : [];
  return { key, size, path: steps };
}

/** A JSON pointer that leads along some steps. */
export function pointerOf(steps: readonly (string | number)[]): string {
  return steps.map((one) => `/${String(one).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

interface Props {
  label: ReactNode;
  reference: ReferenceTold;
  source: ValueSource;
  /** How an ordinary value is shown. */
  plain: (value: Json, name: string) => ReactNode;
}

interface Shown {
  kind: string;
  total: number;
  next: number | null;
  items: { name: string; steps: (string | number)[]; part: Json }[];
  text: string;
}

const EMPTY: Shown = { kind: '', total: 0, next: 0, items: [], text: '' };

function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return value !== null && value !== undefined && typeof value === 'object' && !Array.isArray(value);
}

/** What is here with one more part of it. */
export function withPart(was: Shown, part: ValueRange): Shown {
  const more = { ...was, kind: part.kind, total: part.total, next: part.next };
  if (!Array.isArray(part.content)) {
    const isText = typeof part.content === 'string';
    return isText
      ? { ...more, text: was.text + part.content }
      : { ...more, items: [{ name: '', steps: [], part: { value: part.content } }] };
  }
  const items = part.content.map((one, n) => {
    const told = isObject(one) ? one : { value: one };
    const step = part.kind === 'object' ? String(told.key) : part.offset + n;
    return { name: String(step), steps: [step], part: told };
  });
  return { ...more, items: [...was.items, ...items] };
}

/** A value that is kept elsewhere: how large it is, and as much of it as somebody asks for. */
export function LargeValue({ label, reference, source, plain }: Props) {
  return (
    <div className={css.value}>
      {label}
      <span className="muted">{bytes(reference.size)}, kept apart </span>
      <a className={css.link} href={source.href(reference.key)} download>
        <Download size={12} aria-hidden /> download
      </a>
      <Pieces reference={reference} source={source} plain={plain} steps={reference.path} />
    </div>
  );
}

function Pieces({
  reference,
  source,
  plain,
  steps,
}: Omit<Props, 'label'> & { steps: readonly (string | number)[] }) {
  const [shown, setShown] = useState<Shown>(EMPTY);
  const [state, setState] = useState<{ busy: boolean; error: string }>({ busy: false, error: '' });
  const load = async () => {
    setState({ busy: true, error: '' });
    try {
      const part = await source.fetch(reference.key, pointerOf(steps), shown.next ?? 0);
      setShown((was) => withPart(was, part));
      setState({ busy: false, error: '' });
    } catch (error) {
      setState({ busy: false, error: problemOf(error).message });
    }
  };
  const isBegun = shown.kind !== '';
  return (
    <>
      {shown.text ? <pre className={`${css.string} data`}>{shown.text}</pre> : null}
      {shown.items.length ? (
        <ul>
          {shown.items.map((one) => (
            <li key={one.name}>
              {isObject(one.part) && 'preview' in one.part ? (
                <div className={css.value}>
                  <span className={`${css.key} data`}>{one.name}: </span>
                  <span className="muted data">{String(one.part.preview)}</span>
                  <Pieces
                    reference={reference}
                    source={source}
                    plain={plain}
                    steps={[...steps, ...one.steps]}
                  />
                </div>
              ) : (
                plain(isObject(one.part) ? (one.part.value ?? null) : one.part, one.name)
              )}
            </li>
          ))}
        </ul>
      ) : null}
      {shown.next === null ? null : (
        <button type="button" className={css.link} onClick={() => void load()} disabled={state.busy}>
          {isBegun ? `more of ${number(shown.total)}` : 'load'}
        </button>
      )}
      {state.error ? <span role="alert">{state.error}</span> : null}
    </>
  );
}

/** The source of large values, and the reference that a value is; null where it can be shown as it is. */
export function useReference(
  value: Json | undefined,
): { source: ValueSource; reference: ReferenceTold } | null {
  const source = useContext(ValuesFrom);
  const reference = referenceIn(value);
  return source && reference ? { source, reference } : null;
}
