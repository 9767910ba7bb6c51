import { Search } from 'lucide-react';
import { type Ref, useEffect, useState } from 'react';
import { type ListQuery, parsed, written } from '../../api/lists';
import { TextField } from '../../kit';
import css from './executions.module.css';

interface Props {
  query: ListQuery;
  onChange: (query: ListQuery) => void;
  ref?: Ref<HTMLInputElement>;
  playbooks: readonly string[];
}

const STATUSES = ['running', 'waiting', 'paused', 'stuck', 'failed', 'partial', 'completed', 'aborted'];

/** The words of the bar complete to what is known. */
export function completions(text: string, playbooks: readonly string[]): string[] {
  const at = text.lastIndexOf(' ') + 1;
  const [before, word] = [text.slice(0, at), text.slice(at)];
  const known = [
    ...STATUSES.map((one) => `status:${one}`),
    ...playbooks.map((one) => `playbook:${/\s/.test(one) ? `"${one}"` : one}`),
    ...['1h', '24h', '7d'].map((one) => `since:${one}`),
  ];
  return known.filter((one) => one.startsWith(word) && one !== word).map((one) => before + one);
}

/** The query as text; Enter asks. */
export function QueryBar({ query, onChange, ref, playbooks }: Props) {
  const told = written(query);
  const [text, setText] = useState(told);
  useEffect(() => setText(told), [told]);
  const ask = () => onChange({ ...parsed(text), sort: query.sort });
  return (
    <form
      className={css.query}
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        ask();
      }}
    >
      <Search size={14} aria-hidden className="muted" />
      <div className="grow">
        <TextField
          ref={ref}
          hideLabel
          mono
          label="Filter executions"
          list="query-words"
          placeholder="status:waiting playbook:orders label.env=prod since:24h words"
          value={text}
          onChange={setText}
          onKeyDown={(event) => {
            if (event.key === 'Escape') event.currentTarget.blur();
          }}
        />
      </div>
      <datalist id="query-words">
        {completions(text, playbooks)
          .slice(0, 20)
          .map((one) => (
            <option key={one} value={one} />
          ))}
      </datalist>
    </form>
  );
}
