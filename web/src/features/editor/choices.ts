/** Choices of a walk, made of what stands in the fields. */
import type { Made, NextChoice } from '../../api/authoring';
import type { Json } from '../../api/shapes';

/** What the field of a choice begins with. */
export function startOf(asked: NextChoice): string {
  return asked.kind === 'work-item' && asked.proposal !== null && asked.proposal !== undefined
    ? JSON.stringify(asked.proposal)
    : '';
}

/** What the field of a choice is called. */
export function fieldOf(asked: NextChoice): string {
  if (asked.kind === 'work-item') return 'What is filled in (JSON)';
  return asked.kind === 'signal' ? 'Payload (JSON)' : 'Result (JSON), or the kind of the error';
}

/** The value of a field; undefined where it is empty, and an error where it is no JSON. */
export function jsonOf(text: string): Json | undefined {
  return text.trim() ? (JSON.parse(text) as Json) : undefined;
}

/** One of the options, with what stands in the field. Throws where the field has to be JSON and is none. */
export function madeOf(asked: NextChoice, option: string, field: string): Made {
  if (asked.kind === 'outcome') {
    if (option === 'error') return { error: field.trim() || 'unknown' };
    return { ok: jsonOf(field) ?? null };
  }
  if (asked.kind === 'signal') {
    if (option === 'wait') return { wait: true };
    return { payload: jsonOf(field) ?? null };
  }
  const data = jsonOf(field);
  return { action: option, ...(data === undefined ? {} : { data }) };
}

/** A choice in a few words, as the list of those made says it. */
export function told(asked: NextChoice, made: Made): string {
  if (made.error !== undefined) return `${asked.step}: error ${made.error}`;
  if (made.wait) return `${asked.step}: '${asked.what}' does not come`;
  if (made.action !== undefined) return `${asked.step}: ${made.action}`;
  if (asked.kind === 'signal') return `${asked.step}: '${asked.what}' comes`;
  return `${asked.step}: ok ${JSON.stringify(made.ok ?? null)}`;
}
