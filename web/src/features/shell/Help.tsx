import { Dialog, Kbd } from '../../kit';
import { bindings } from '../../kit/keyboard';
import css from './shell.module.css';

const NAMES: Record<string, string> = {
  ArrowLeft: '←',
  ArrowRight: '→',
  ArrowUp: '↑',
  ArrowDown: '↓',
  Mod: 'Ctrl',
};

function shown(keys: string): string {
  return keys
    .split('+')
    .map((part) => NAMES[part] ?? part)
    .join(' ');
}

/** The keys of this page. */
export function Help({ onClose }: { onClose: () => void }) {
  const seen = new Set<string>();
  const list = bindings().filter((one) => !seen.has(one.keys) && seen.add(one.keys));
  return (
    <Dialog title="Keys" onClose={onClose} size="lg">
      <dl className={css.keys}>
        {list.map((one) => (
          <div key={one.keys}>
            <dt>
              <Kbd>{shown(one.keys)}</Kbd>
            </dt>
            <dd>{one.label}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
