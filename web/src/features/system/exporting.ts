/** What a list holds, as a file of somebody's own. */
import type { Paged } from '../../kit/usePages';

/** All of a list, page by page. */
export async function everything<T>(fetch: (cursor: string | null) => Promise<Paged<T>>): Promise<T[]> {
  const rows: T[] = [];
  let cursor: string | null = null;
  do {
    const page: Paged<T> = await fetch(cursor);
    rows.push(...page.items);
    cursor = page.next ?? null;
  } while (cursor !== null);
  return rows;
}

/** Each as JSON in a line of its own. */
export function asLines(rows: readonly unknown[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
}

/** Have the browser keep a text as a file. */
export function save(name: string, text: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/x-ndjson' }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href)); // once the browser has taken it
}
