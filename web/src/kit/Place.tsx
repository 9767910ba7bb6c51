import { Link } from '@tanstack/react-router';
import type { PlaceInLine } from '../api/limits';
import { shortId } from './format';
import { limitInWords, placeInWords, usedInWords } from './limit-words';

/** Where somebody stands in the line of a limit, and who is in. */
export function Place({ place }: { place: PlaceInLine }) {
  return (
    <p className="data">
      <strong>{placeInWords(place)}</strong> for the {limitInWords(place.limit, place.key)} ·{' '}
      {usedInWords(place.used, place.most)}
      {place.holders.length ? ' by ' : ''}
      {place.holders.map((id, n) => (
        <span key={id}>
          {n ? ', ' : ''}
          <ExecutionLink id={id} />
        </span>
      ))}
    </p>
  );
}

export function ExecutionLink({ id }: { id: string }) {
  return (
    <Link to="/e/$id" params={{ id }} className="mono" title={id}>
      {shortId(id)}
    </Link>
  );
}
