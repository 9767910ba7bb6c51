/** Saving a schedule, and what is kept of it in the browser until that is done. */
import { useEffect, useState } from 'react';
import { sent } from '../../acts/gate';
import { SAVE_SCHEDULE, type ScheduleDraftView } from '../../acts/schedules';
import { problemOf } from '../../api/problems';
import { type Base, scheduleIfAny } from '../../api/schedules';
import { recalled, remember } from '../../kit';
import { documentOf, formOf, fresh, type ScheduleForm, textOf } from './form';

/** It is kept, or somebody else was faster: with another text, or by removing it. */
export type Saved = { kept: true } | { kept: false; theirs: Base | null };

/**
 * Save what was written; nothing of another is overwritten that its author did not see.
 * Where the answer to an earlier try was lost, the text that is there is mine.
 */
export async function save(view: ScheduleDraftView, form: ScheduleForm): Promise<Saved> {
  try {
    await sent(SAVE_SCHEDULE, view, {}, null);
    return { kept: true };
  } catch (error) {
    if (problemOf(error).code !== 'stale') throw error;
    const theirs = await scheduleIfAny(view.name);
    return theirs && isSame(form, theirs) ? { kept: true } : { kept: false, theirs };
  }
}

/** Whether a form says what is kept already. */
export function isSame(form: ScheduleForm, base: Base): boolean {
  const now = documentOf(formOf(base.document), base.document);
  return textOf(documentOf(form, base.document)) === textOf(now);
}

// Drafts

interface Kept {
  form: ScheduleForm;
  base: Base | null;
}

/** What a draft does not have that was kept before there were such fields. */
const NEWER = { version: '' };

export function draftOf(kept: string | null, first: ScheduleForm): Kept | null {
  try {
    const found = JSON.parse(kept ?? '') as Partial<Kept> | null;
    const form = found?.form && { ...NEWER, ...found.form };
    const whole = form && Object.keys(first).every((name) => name in form);
    return whole ? { form, base: found.base ?? null } : null;
  } catch {
    return null;
  }
}

const HERE = new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** What is filled in is kept until it was saved, with the text that it was begun from. */
export function useDraft(name: string, first: Base | null) {
  const slot = `schedule.${name}`;
  const unchanged = (base: Base | null) => (base ? formOf(base.document) : fresh(HERE));
  const [kept] = useState(() => draftOf(recalled(slot), fresh(HERE)));
  const [form, setForm] = useState(() => kept?.form ?? unchanged(first));
  const [base, setBase] = useState(kept ? kept.base : first);
  const isChanged = base ? !isSame(form, base) : JSON.stringify(form) !== JSON.stringify(unchanged(null));
  useEffect(
    () => remember(slot, isChanged ? JSON.stringify({ form, base }) : ''),
    [slot, isChanged, form, base],
  );
  const settle = (next: ScheduleForm, on: Base | null) => {
    setForm(next);
    setBase(on);
  };
  const forget = () => {
    settle(unchanged(first), first);
    remember(slot, ''); // whoever saved is gone before the next effect
  };
  return { form, setForm, base, settle, isChanged, forget, wasKept: kept !== null && isChanged };
}
