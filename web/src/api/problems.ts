/** What went wrong, as the server tells it, or as nobody could be asked. */
import type { Schemas } from './shapes';

export type ProblemPlace = Partial<Schemas['ProblemPlace']>;

export interface ProblemBody {
  /** Where it is described, where the server says so. */
  type?: string;
  title: string;
  status: number;
  code: string;
  detail: string;
  hint: string;
  errors?: ProblemPlace[];
}

export class Problem extends Error {
  readonly body: ProblemBody;

  constructor(body: ProblemBody) {
    super(body.detail || body.title);
    this.name = 'Problem';
    this.body = body;
  }

  get code(): string {
    return this.body.code;
  }
}

/** Nobody answered: the server is away, or the way to it is. */
export const AWAY = 'away';

export function away(reason: unknown): Problem {
  const detail = reason instanceof Error ? reason.message : String(reason);
  return new Problem({
    title: 'The server does not answer',
    status: 0,
    code: AWAY,
    detail,
    hint: 'it is tried again by itself',
  });
}

/** What stands before the server says for it that it is not there. */
export const GATEWAY: ReadonlySet<number> = new Set([502, 503, 504]);

/** Asking again can help: nobody answered, or it was said that the server is busy or away. */
export function isPassing(error: unknown): boolean {
  return error instanceof Problem && (error.code === AWAY || GATEWAY.has(error.body.status));
}

export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem({
    title: 'Something in this page is wrong',
    status: 0,
    code: 'page',
    detail: error instanceof Error ? error.message : String(error),
    hint: 'reload the page',
  });
}

function isBody(value: unknown): value is ProblemBody {
  return typeof value === 'object' && value !== null && 'code' in value && 'title' in value;
}

/** Whatever the answer was that is none: a problem document, or a page of something in between. */
export function answered(status: number, body: unknown): Problem {
  if (isBody(body)) return new Problem(body);
  return new Problem({
    title: `The answer was ${status}`,
    status,
    code: `http-${status}`,
    detail: typeof body === 'string' ? body.slice(0, 300) : '',
    hint: 'something between this page and the server may have answered',
  });
}
