import { useMutation } from '@tanstack/react-query';
import { Wrench } from 'lucide-react';
import { type Repair, repairs } from '../../api/authoring';
import { Button, ErrorBox } from '../../kit';
import css from './editor.module.css';

interface Props {
  text: string;
  onFix: (fix: Repair) => void;
}

/** What would make an unsound text sound: the server tries small changes, and proves each. */
export function Repairs({ text, onFix }: Props) {
  const tried = useMutation({ mutationFn: repairs });
  const found = tried.variables === text ? tried.data : undefined;
  return (
    <>
      <Button icon={Wrench} busy={tried.isPending} onClick={() => tried.mutate(text)}>
        What would fix it?
      </Button>
      {tried.isError ? <ErrorBox error={tried.error} retry={() => tried.mutate(text)} /> : null}
      {found ? (
        <section className={`${css.choice} stack tight`} aria-label="What would fix it">
          <p role="status">
            {found.length
              ? 'With any of these it is sound. Which of them you mean, only you know.'
              : 'None of the small changes that were tried makes it sound: lead every branch to the join.'}
          </p>
          {found.map((one) => (
            <div key={one.title} className="row">
              <Button onClick={() => onFix(one)}>Change it</Button>
              <span className="data">{one.title}</span>
            </div>
          ))}
        </section>
      ) : null}
    </>
  );
}
