import { oneOf, type Raw, text } from '../../kit/search';

export interface SchedulesSearch {
  /** The name of the schedule that is being changed. */
  edit?: string;
  new?: 'yes';
}

export function schedulesSearch(raw: Raw): SchedulesSearch {
  return { edit: text(raw, 'edit'), new: oneOf(raw, 'new', ['yes']) };
}
