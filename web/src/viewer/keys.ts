/** The keys of a story, wherever it is shown. */
import type { KeyBinding } from '../kit';
import type { Sel } from '../story/sel';

interface Heard {
  seq: number;
  sel: Sel | null;
  to: (seq: number) => void;
  /** Go to the next record, or to the one before, of a selection or of those that are marked. */
  jump: (among: Sel | null | 'marked', direction: 1 | -1) => void;
  toggle: () => void;
}

export function keysOfStory({ seq, sel, to, jump, toggle }: Heard): KeyBinding[] {
  return [
    { keys: 'ArrowLeft', label: 'Record before', run: () => to(seq - 1) },
    { keys: 'ArrowRight', label: 'Next record', run: () => to(seq + 1) },
    { keys: 'Shift+ArrowLeft', label: 'Record of the selection before', run: () => jump(sel, -1) },
    { keys: 'Shift+ArrowRight', label: 'Next record of the selection', run: () => jump(sel, 1) },
    { keys: 'Alt+ArrowLeft', label: 'Mark before', run: () => jump('marked', -1) },
    { keys: 'Alt+ArrowRight', label: 'Next mark', run: () => jump('marked', 1) },
    { keys: 'Space', label: 'Play or stop', run: toggle },
  ];
}
