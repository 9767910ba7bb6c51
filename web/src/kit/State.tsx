import css from './kit.module.css';
import { lookOf } from './states';

interface Props {
  status: string;
  reason?: string;
  /** Only the icon, with the word for who does not see it. */
  bare?: boolean;
}

const SHORT = 24;

/** A state: icon, colour and word. */
export function State({ status, reason = '', bare = false }: Props) {
  const look = lookOf(status, reason);
  const Icon = look.icon;
  const why =
    status === 'waiting' && reason && reason !== look.word && reason.length < SHORT ? ` · ${reason}` : '';
  return (
    <span className={css.state} data-state={look.token} data-bare={bare || undefined}>
      <Icon
        size={14}
        strokeWidth={1.75}
        aria-hidden
        className={status === 'running' ? css.turns : undefined}
      />
      <span className={bare ? 'hidden' : undefined}>
        {look.word}
        {why}
      </span>
    </span>
  );
}
