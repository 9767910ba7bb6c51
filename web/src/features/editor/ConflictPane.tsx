import { useQuery } from '@tanstack/react-query';
import { GitMerge } from 'lucide-react';
import { lazy, Suspense, useMemo } from 'react';
import { current, unsigned } from '../../api/authoring';
import { definition } from '../../api/calls';
import { Answer, Button, plural, Skeleton } from '../../kit';
import css from './editor.module.css';
import { merged } from './merge';

const TextDiff = lazy(() => import('../../kit/TextDiff'));

export interface Base {
  text: string;
  /** What a change of it names; null where nothing is there yet. */
  tag: string | null;
}

interface Props {
  path: string;
  base: Base;
  mine: string;
  /** Go on with a text, which replaces what is applied now. */
  onChosen: (text: string, base: Base) => void;
}

/** Somebody else applied another text meanwhile: what they changed, what I changed, and what becomes of both. */
export function ConflictPane({ path, base, mine, onChosen }: Props) {
  const found = useQuery({
    queryKey: ['conflict', path, base.tag],
    queryFn: async () => {
      const digest = base.tag?.replaceAll('"', '');
      const [theirs, was] = await Promise.all([current(path), digest ? definition(digest) : null]);
      return { theirs, was: was ? unsigned(was.text) : '' };
    },
    gcTime: 0,
    retry: false,
  });
  const result = useMemo(() => {
    if (!found.data || base.tag === null) return null; // two texts that have no past in common
    try {
      return merged(base.text, mine, found.data.theirs.text);
    } catch {
      return null; // too long to be merged by itself
    }
  }, [found.data, base, mine]);
  if (!found.data)
    return (
      <Answer of={found} lines={4}>
        {() => null}
      </Answer>
    );
  const { theirs, was } = found.data;
  const isNew = base.tag === null;
  const title = isNew
    ? 'Somebody else applied a playbook here meanwhile'
    : 'Somebody else applied another text meanwhile';
  return (
    <section className={`${css.conflict} stack`} aria-label={title}>
      <div role="alert">
        <h2>{title}</h2>
        <p>Nothing is lost: yours stands in the editor, theirs is applied. Choose what becomes of both.</p>
      </div>
      <div className="row wrap">
        {isNew ? null : (
          <Button
            kind="main"
            icon={GitMerge}
            why={result ? null : 'they are too long to be merged by itself'}
            onClick={() => result && onChosen(result.text, theirs)}
          >
            {result?.conflicts ? `Merge, with ${plural(result.conflicts, 'place')} left to me` : 'Merge both'}
          </Button>
        )}
        <Button onClick={() => onChosen(mine, theirs)}>Keep mine</Button>
        <Button onClick={() => onChosen(theirs.text, theirs)}>Take theirs</Button>
      </div>
      <div className={css.sides}>
        <Suspense fallback={<Skeleton lines={6} />}>
          <div>
            <h3>What they changed</h3>
            <TextDiff before={was} after={theirs.text} label="What they changed" />
          </div>
          <div>
            <h3>What you changed</h3>
            <TextDiff before={base.text} after={mine} label="What you changed" />
          </div>
        </Suspense>
      </div>
    </section>
  );
}
