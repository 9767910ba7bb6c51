import { type KeyboardEvent, type ReactNode, useId } from 'react';
import css from './kit.module.css';

interface Tab<T extends string> {
  id: T;
  label: ReactNode;
}

interface Props<T extends string> {
  label: string;
  tabs: readonly Tab<T>[];
  value: T;
  onChange: (tab: T) => void;
  children: ReactNode;
  className?: string;
}

/** Tabs: arrow keys walk, the panel is named by its tab. */
export function Tabs<T extends string>({ label, tabs, value, onChange, children, className }: Props<T>) {
  const id = useId();
  const move = (event: KeyboardEvent<HTMLDivElement>) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const at = tabs.findIndex((tab) => tab.id === value);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (!next) return;
    onChange(next.id);
    document.getElementById(`${id}-${next.id}`)?.focus();
  };
  return (
    <>
      <div className={css.tabs} role="tablist" aria-label={label} onKeyDown={move}>
        {tabs.map((tab) => (
          <button
            key={tab.id}
            type="button"
            role="tab"
            id={`${id}-${tab.id}`}
            aria-selected={tab.id === value}
            aria-controls={`${id}-panel`}
            tabIndex={tab.id === value ? 0 : -1}
            onClick={() => onChange(tab.id)}
          >
            {tab.label}
          </button>
        ))}
      </div>
      <div
        role="tabpanel"
        id={`${id}-panel`}
        aria-labelledby={`${id}-${value}`}
        className={className}
        tabIndex={0}
      >
        {children}
      </div>
    </>
  );
}
