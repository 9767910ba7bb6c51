/** What is selected: one thing, as it is written in the address. Pages that have no story read it too. */

export type Sel =
  | { kind: 'step'; step: string }
  | { kind: 'run'; run: number }
  | { kind: 'iter'; run: number; n: number }
  | { kind: 'arc'; from: string; index: number }
  | { kind: 'place'; place: string }
  | { kind: 'token'; token: string }
  | { kind: 'rec'; seq: number }
  | { kind: 'ctx'; key: string }
  | { kind: 'item'; item: string };
export type SelKind = Sel['kind'];

function natural(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,12}$/.test(text) ? Number(text) : null;
}

/** Read a selection; null where it is none. */
export function readSel(text: string | undefined): Sel | null {
  const at = text?.indexOf(':') ?? -1;
  if (!text || at < 1) return null;
  const [kind, rest] = [text.slice(0, at), text.slice(at + 1)];
  if (!rest) return null;
  const slash = rest.lastIndexOf('/');
  const [before, behind] = slash < 0 ? [rest, undefined] : [rest.slice(0, slash), rest.slice(slash + 1)];
  const [n, m] = [natural(before), natural(behind)];
  switch (kind) {
    case 'step':
      return { kind, step: rest };
    case 'run':
      return slash < 0 && n !== null ? { kind, run: n } : null;
    case 'iter':
      return n !== null && m !== null ? { kind, run: n, n: m } : null;
    case 'arc':
      return before && m !== null ? { kind, from: before, index: m } : null;
    case 'place':
      return { kind, place: rest };
    case 'token':
      return { kind, token: rest };
    case 'rec':
      return slash < 0 && n !== null ? { kind, seq: n } : null;
    case 'ctx':
      return { kind, key: rest };
    case 'item':
      return { kind, item: rest };
    default:
      return null;
  }
}

export function writeSel(sel: Sel): string {
  switch (sel.kind) {
    case 'step':
      return `step:${sel.step}`;
    case 'run':
      return `run:${sel.run}`;
    case 'iter':
      return `iter:${sel.run}/${sel.n}`;
    case 'arc':
      return `arc:${sel.from}/${sel.index}`;
    case 'place':
      return `place:${sel.place}`;
    case 'token':
      return `token:${sel.token}`;
    case 'rec':
      return `rec:${sel.seq}`;
    case 'ctx':
      return `ctx:${sel.key}`;
    case 'item':
      return `item:${sel.item}`;
  }
}
