/** The workload of a playbook: what it begins with, as its text says. */
import type { Json } from '../../api/shapes';

export type Values = { [key: string]: Json };

export function workloadOf(text: string): Values | null {
  try {
    const found = JSON.parse(text) as Json;
    return found !== null && typeof found === 'object' && !Array.isArray(found) ? found : null;
  } catch {
    return null;
  }
}

function plain(text: string): Json | undefined {
  const value = text.trim();
  if (value === '' || value === '~' || value === 'null') return null;
  if (/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(value)) return Number(value);
  if (value === 'true' || value === 'false') return value === 'true';
  const quoted = /^(["'])(.*)\1$/.exec(value);
  if (quoted) return quoted[2] ?? '';
  if (/^[[{]/.test(value)) {
    try {
      return JSON.parse(value) as Json;
    } catch {
      return undefined; // a list or a mapping that is no JSON: the server has it anyway
    }
  }
  return /^[|>&*!]/.test(value) ? undefined : value;
}

/**
 * The defaults that stand under `workload:` and fit on a line. What is nested there is left to the server, which merges
 * what is sent over all of its defaults.
 */
export function defaultsOf(source: string): Values {
  const found: Values = {};
  let inside = false;
  let indent = '';
  for (const line of source.split('\n')) {
    if (/^workload:\s*(#.*)?$/.test(line)) inside = true;
    else if (inside && /^\S/.test(line)) break;
    else if (inside) {
      const [, space = '', key = '', rest = ''] = /^(\s+)([A-Za-z_][\w-]*):(.*)$/.exec(line) ?? [];
      if (!key) continue;
      indent ||= space;
      if (space !== indent) continue;
      const value = plain(rest.replace(/\s#.*$/, ''));
      if (value !== undefined && rest.trim() !== '') found[key] = value;
    }
  }
  return found;
}

export function merged(defaults: Values, over: Values): Values {
  return { ...defaults, ...over };
}
