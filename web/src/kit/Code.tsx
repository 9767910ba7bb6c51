import { basePath } from '../api/client';
import type { ProblemBody } from '../api/problems';

/** The page of a problem: one of this server, at its base path or by its whole address; null where it is none. */
export function pageOf(type: string | undefined, base = basePath()): string | null {
  if (!type) return null;
  const isPath = type.startsWith('/');
  if (isPath && !type.startsWith(`${base}/`)) return null;
  if (!isPath && !/^https?:\/\//i.test(type)) return null;
  const url = URL.parse(type, location.origin);
  return url && url.origin === location.origin ? url.href : null;
}

/** The code of a problem; it leads to its page where the server has one. */
export function Code({ of: { code, type } }: { of: Pick<ProblemBody, 'code' | 'type'> }) {
  const page = pageOf(type);
  if (!page) return <code>{code}</code>;
  return (
    <a href={page} target="_blank" rel="noreferrer">
      <code>{code}</code>
    </a>
  );
}
