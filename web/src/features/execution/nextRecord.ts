/** The record that comes next, of a selection or of those that are marked: the server knows those that are not held. */
import { events } from '../../api/calls';
import type { Sel } from '../../story/sel';
import { nextOfSel, wantedOfSel } from '../../story/select';
import { StoryStore } from '../../story/store';

export async function nextRecord(
  id: string,
  story: StoryStore,
  among: Sel | null | 'marked',
  seq: number,
  direction: 1 | -1,
): Promise<number | null> {
  const isMarked = among === 'marked';
  if (story.isWhole) {
    return isMarked ? StoryStore.next(story.marked, seq, direction) : nextOfSel(story, among, seq, direction);
  }
  const wanted = isMarked ? { level: 'marked' as const } : wantedOfSel(story, among);
  if (!wanted) return null;
  const where = direction > 0 ? { after: seq } : { before: seq };
  return (await events(id, { ...wanted, ...where, limit: 1 })).items[0]?.seq ?? null;
}
