import { useState } from 'react';
import type { Json } from '../api/shapes';
import { bytes, number } from './format';
import css from './kit.module.css';
import { LargeValue, useReference } from './LargeValue';

const LONG = 400;
const MANY = 100;
const DEEP = 2;

/** Any value, as data: never as markup, long ones cut, large ones closed. */
export function Value({
  value,
  name,
  depth = 0,
}: {
  value: Json | undefined;
  name?: string;
  depth?: number;
}) {
  const large = useReference(value);
  const label = name === undefined ? null : <span className={`${css.key} data`}>{name}: </span>;
  if (large) {
    return (
      <LargeValue
        label={label}
        {...large}
        plain={(one, its) => <Value value={one} name={its} depth={DEEP} />}
      />
    );
  }
  if (value === null || typeof value !== 'object') {
    return (
      <div className={css.value}>
        {label}
        <Plain value={value} />
      </div>
    );
  }
  const entries: [string, Json][] = Array.isArray(value)
    ? value.map((one, n) => [String(n), one])
    : Object.entries(value);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  if (!entries.length) {
    return (
      <div className={css.value}>
        {label}
        {open}
        {close}
      </div>
    );
  }
  return <Many label={label} entries={entries} brackets={[open ?? '', close ?? '']} depth={depth} />;
}

interface ManyProps {
  label: React.ReactNode;
  entries: [string, Json][];
  brackets: [string, string];
  depth: number;
}

function Many({ label, entries, brackets, depth }: ManyProps) {
  const [isOpen, setOpen] = useState(depth < DEEP && entries.length <= MANY);
  const [shown, setShown] = useState(MANY);
  return (
    <details className={css.value} open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {label}
        {brackets[0]} <span className="muted">{number(entries.length)}</span> {brackets[1]}
      </summary>
      {isOpen ? (
        <ul>
          {entries.slice(0, shown).map(([key, one]) => (
            <li key={key}>
              <Value value={one} name={key} depth={depth + 1} />
            </li>
          ))}
          {entries.length > shown ? (
            <li>
              <button type="button" className={css.link} onClick={() => setShown(shown + MANY)}>
                {number(entries.length - shown)} more
              </button>
            </li>
          ) : null}
        </ul>
      ) : null}
    </details>
  );
}

function Plain({ value }: { value: Json | undefined }) {
  const [isWhole, setWhole] = useState(false);
  if (typeof value === 'string') {
    const cut = !isWhole && value.length > LONG;
    return (
      <>
        <span className={css.string}>{JSON.stringify(cut ? value.slice(0, LONG) : value)}</span>
        {cut ? (
          <button type="button" className={css.link} onClick={() => setWhole(true)}>
            all {bytes(value.length)}
          </button>
        ) : null}
      </>
    );
  }
  const kind = typeof value === 'number' ? css.number : css.word;
  return <span className={kind}>{value === undefined ? '–' : String(value)}</span>;
}
