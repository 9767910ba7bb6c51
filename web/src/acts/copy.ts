/** An act as somebody would do it elsewhere: on the command line, with curl, in Python. Secrets are never in it. */
import type { Call } from '../api/client';

const PLAIN = /^[A-Za-z0-9_./:=@%+,-]+$/;

/** A word for a POSIX shell. */
export function quoted(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

export function asCli(words: readonly string[]): string {
  return ['petra', ...words].map(quoted).join(' ');
}

export function asCurl(call: Call, origin: string): string {
  const parts = ['curl', '-X', call.method, `${origin}${call.path}`];
  const said = parts.map(quoted);
  said.push('-H', '"Authorization: Bearer $PETRA_TOKEN"');
  for (const [name, value] of Object.entries(call.headers ?? {}))
    said.push('-H', quoted(`${name}: ${value}`));
  if (call.body !== undefined) {
    said.push('-H', quoted('Content-Type: application/json'), '-d', quoted(JSON.stringify(call.body)));
  }
  return said.join(' ');
}

/** A value as Python writes it. */
export function python(value: unknown): string {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(python).join(', ')}]`;
  if (typeof value === 'object') {
    return `{${Object.entries(value)
      .map(([key, one]) => `${JSON.stringify(key)}: ${python(one)}`)
      .join(', ')}}`;
  }
  return JSON.stringify(value);
}

export function asPython(call: Call, origin: string): string {
  const headers = Object.entries(call.headers ?? {})
    .map(([name, value]) => `, ${JSON.stringify(name)}: ${JSON.stringify(value)}`)
    .join('');
  const body = call.body === undefined ? '' : `\n    json=${python(call.body)},`;
  return `import os, httpx2

answer = httpx2.request(
    ${JSON.stringify(call.method)}, ${JSON.stringify(origin + call.path)},${body}
    headers={"Authorization": f"Bearer {os.environ['PETRA_TOKEN']}"${headers}},
)
answer.raise_for_status()
print(answer.json())`;
}
