import { GitMerge } from 'lucide-react';
import type { Base } from '../../api/schedules';
import { Button } from '../../kit';
import { formOf, type ScheduleForm } from './form';
import { differences, together } from './merging';
import css from './schedules.module.css';

interface Props {
  was: Base | null;
  theirs: Base | null;
  mine: ScheduleForm;
  /** Go on with a form, which takes the place of what is kept now. */
  onChosen: (form: ScheduleForm, base: Base | null) => void;
}

/** Somebody else changed the schedule meanwhile: what they did, what I did, and what becomes of both. */
export function ConflictBox({ was, theirs, mine, onChosen }: Props) {
  if (!theirs) {
    return (
      <section className={`${css.conflict} stack`} role="alert" aria-label="Somebody removed it meanwhile">
        <h2>Somebody removed it meanwhile</h2>
        <p>Nothing is started by it any more. What you wrote stands here: it can become a new schedule.</p>
        <div className="row wrap">
          <Button kind="main" onClick={() => onChosen(mine, null)}>
            Make it anew
          </Button>
        </div>
      </section>
    );
  }
  const three = { was: was ? formOf(was.document) : null, theirs: formOf(theirs.document), mine };
  const title = was ? 'Somebody else changed it meanwhile' : 'There is a schedule of that name already';
  return (
    <section className={`${css.conflict} stack`} role="alert" aria-label={title}>
      <h2>{title}</h2>
      <p>
        Nothing is lost: yours stands in the form, theirs is kept.{' '}
        {was ? 'Choose what becomes of both, then save.' : 'Choose another name, or take its place.'}
      </p>
      <table className={css.differences}>
        <thead>
          <tr>
            <th scope="col">What</th>
            {was ? <th scope="col">It was</th> : null}
            <th scope="col">Theirs</th>
            <th scope="col">Yours</th>
          </tr>
        </thead>
        <tbody>
          {differences(three).map((one) => (
            <tr key={one.label}>
              <th scope="row">{one.label}</th>
              {was ? <td className="data">{one.was}</td> : null}
              <td className="data">{one.theirs}</td>
              <td className="data">
                {one.mine}
                {was && one.contested ? <strong className={css.note}> both changed it</strong> : null}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <div className="row wrap">
        {was ? (
          <Button kind="main" icon={GitMerge} onClick={() => onChosen(together(three), theirs)}>
            Merge both
          </Button>
        ) : null}
        <Button onClick={() => onChosen(mine, theirs)}>{was ? 'Keep mine' : 'Take its place'}</Button>
        <Button onClick={() => onChosen(three.theirs, theirs)}>Take theirs</Button>
      </div>
    </section>
  );
}
