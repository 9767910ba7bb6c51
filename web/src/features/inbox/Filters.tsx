import { useQuery } from '@tanstack/react-query';
import { type RefObject, useCallback } from 'react';
import { type Due, type ItemQuery, SORTS, type Sort } from '../../api/items';
import { keys } from '../../api/keys';
import { choices } from '../../api/running';
import { Choice } from '../../kit';
import { Words } from '../../kit/Words';
import css from './inbox.module.css';
import type { InboxSearch } from './search';

const DUE: { value: Due | ''; label: string }[] = [
  { value: '', label: 'Due at any time' },
  { value: 'overdue', label: 'Overdue' },
  { value: 'today', label: 'Due today' },
  { value: 'week', label: 'Due within a week' },
  { value: 'none', label: 'No due date' },
];
const SORT: Record<Sort, string> = {
  priority: 'By priority',
  due: 'By due date',
  age: 'Oldest first',
  newest: 'Newest first',
};

interface FiltersProps {
  query: ItemQuery;
  go: (next: Partial<InboxSearch>) => void;
  field: RefObject<HTMLInputElement | null>;
}

/** What narrows a box, and in what order it is listed; all of it stands in the address. */
export function Filters({ query, go, field }: FiltersProps) {
  const ask = useCallback((q: string) => go({ q: q || undefined }), [go]);
  return (
    <div className={css.filters} role="search" aria-label="Filter the inbox">
      <Words
        ref={field}
        label="Words in title, step or execution"
        placeholder="title, step, execution  /"
        words={query.q}
        onWords={ask}
      />
      <PlaybookChoice chosen={query.playbook} go={go} />
      <Choice<Due | ''>
        hideLabel
        label="Due"
        value={query.due}
        onChange={(due) => go({ due: due || undefined })}
        options={DUE}
      />
      <Choice<Sort>
        hideLabel
        label="Sort"
        value={query.sort}
        onChange={(sort) => go({ sort: sort === 'priority' ? undefined : sort })}
        options={SORTS.map((value) => ({ value, label: SORT[value] }))}
      />
    </div>
  );
}

/** Of whoever may not see playbooks, only the one that the address names can be chosen. */
function PlaybookChoice({ chosen, go }: { chosen: string } & Pick<FiltersProps, 'go'>) {
  const found = useQuery({ queryKey: keys.playbooks, queryFn: choices, retry: false });
  const paths = new Set((found.data?.items ?? []).map((one) => one.path));
  if (chosen) paths.add(chosen);
  return (
    <Choice
      hideLabel
      label="Playbook"
      value={chosen}
      onChange={(playbook) => go({ playbook: playbook || undefined })}
      options={[
        { value: '', label: 'Any playbook' },
        ...[...paths].map((path) => ({ value: path, label: path })),
      ]}
    />
  );
}
