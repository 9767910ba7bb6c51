/** Search parameters: plain text in the address, checked when they are read. What is not known is dropped. */

export type Raw = Record<string, unknown>;

export function parseSearch(text: string): Raw {
  return Object.fromEntries(new URLSearchParams(text));
}

export function stringifySearch(search: Raw): string {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (value === undefined || value === null || value === '') continue;
    if (Array.isArray(value)) {
      if (value.length) found.set(name, value.join(','));
    } else found.set(name, String(value));
  }
  const text = found.toString().replaceAll('%2C', ',').replaceAll('%3A', ':').replaceAll('%2F', '/');
  return text ? `?${text}` : '';
}

/** What an address says of a page that the page knows and cannot read; what it does not know is dropped without a word. */
export function unread(raw: Raw, read: Raw): string[] {
  const bad = Object.keys(raw).filter((name) => raw[name] !== '' && name in read && read[name] === undefined);
  return bad.map((name) => `${name}=${String(raw[name]).slice(0, 40)}`);
}

export function text(raw: Raw, name: string): string | undefined {
  const value = raw[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function whole(raw: Raw, name: string, least = 1): number | undefined {
  const value = raw[name];
  const found =
    typeof value === 'number'
      ? value
      : typeof value === 'string' && value !== ''
        ? Number(value)
        : Number.NaN;
  return Number.isSafeInteger(found) && found >= least ? found : undefined;
}

export function oneOf<T extends string>(raw: Raw, name: string, known: readonly T[]): T | undefined {
  const value = raw[name];
  return known.find((one) => one === value);
}

export function list(raw: Raw, name: string): string[] | undefined {
  const value = raw[name];
  const found = Array.isArray(value) ? value.map(String) : typeof value === 'string' ? value.split(',') : [];
  const kept = found.filter(Boolean);
  return kept.length ? kept : undefined;
}
