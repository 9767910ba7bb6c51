/** What the server refused of what was filled in, at the field that it is about. */
import type { Json } from '../api/shapes';

export interface FieldError {
  path: string[];
  message: string;
}

const REFUSED = /^(?:the workload does not fit|the form is not filled in as it should be): (.*)$/s;
const MISSING = /^"(.+)" is a required property$/s;
const PLACED = /^([^\s:"][^:"]*): (.*)$/s;

/** Read a refusal; null where it is about no field. */
export function refusedAt(detail: string): FieldError | null {
  const said = REFUSED.exec(detail)?.[1];
  if (said === undefined) return null;
  const placed = PLACED.exec(said);
  const path = placed ? (placed[1] ?? '').split(/[.[\]]+/).filter(Boolean) : [];
  const message = placed?.[2] ?? said;
  const missing = MISSING.exec(message)?.[1];
  if (missing !== undefined) return { path: [...path, missing], message: 'this is needed' };
  return path.length ? { path, message } : null;
}

/** An error as the form wants it: nested as its fields are. */
export function nested(error: FieldError | null): Record<string, Json> {
  if (!error) return {};
  return error.path.reduceRight<Record<string, Json>>((inner, name) => ({ [name]: inner }), {
    __errors: [error.message],
  });
}
