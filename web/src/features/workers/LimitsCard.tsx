import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { keys } from '../../api/keys';
import {
  type LimitedResource,
  type LimitList,
  type LineItem,
  limits,
  line,
  type WholeLine,
} from '../../api/limits';
import { Answer, number, plural, Time } from '../../kit';
import { limitInWords, rateInWords, usedInWords } from '../../kit/limit-words';
import { ExecutionLink } from '../../kit/Place';
import css from './limits.module.css';

const EVERY_MS = 3000;
const LINES_SHOWN = 50;

/** What executions share: how much of it is in use, and who waits; nothing where nothing is limited. */
export function LimitsCard() {
  const found = useQuery({ queryKey: keys.limits, queryFn: limits, refetchInterval: EVERY_MS });
  return (
    <Answer of={found} lines={2}>
      {(data) => <Limited {...data} />}
    </Answer>
  );
}

function Limited({ items, lines }: LimitList) {
  if (!items.length && !lines.length) return null;
  return (
    <section className={css.card} aria-labelledby="limits">
      <h2 id="limits">Limits</h2>
      {items.length ? (
        <ul className={css.resources} aria-label="Resources">
          {items.map((one) => (
            <Resource key={one.name} one={one} />
          ))}
        </ul>
      ) : null}
      {lines.slice(0, LINES_SHOWN).map((one) => (
        <Line key={`${one.limit}\n${one.key}`} one={one} />
      ))}
      {lines.length > LINES_SHOWN ? (
        <p className="muted">and {plural(lines.length - LINES_SHOWN, 'more line')}</p>
      ) : null}
    </section>
  );
}

function Resource({ one }: { one: LimitedResource }) {
  const said = [usedInWords(one.used, one.units), rateInWords(one.rate), `${number(one.waiting)} waiting`];
  return (
    <li className="data">
      <strong>{one.name}</strong> {said.filter(Boolean).join(' · ')}
    </li>
  );
}

function Line({ one }: { one: LineItem }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="data">
        {limitInWords(one.limit, one.key)} · {number(one.used)} in use · {number(one.waiting)} waiting
      </summary>
      {open ? <Standing one={one} /> : null}
    </details>
  );
}

function Standing({ one }: { one: LineItem }) {
  const found = useQuery({
    queryKey: keys.line(one.limit, one.key),
    queryFn: () => line(one.limit, one.key),
    refetchInterval: EVERY_MS,
  });
  return (
    <Answer of={found} lines={2}>
      {({ holders, queue, waiting }) => (
        <>
          <People label="In" list={holders} />
          <People label="Waiting, in order" list={queue} />
          {waiting > queue.length ? (
            <p className="muted">and {number(waiting - queue.length)} more behind them</p>
          ) : null}
        </>
      )}
    </Answer>
  );
}

function People({ label, list }: { label: string; list: WholeLine['queue'] }) {
  if (!list.length) return null;
  return (
    <>
      <h3>{label}</h3>
      <ol aria-label={label}>
        {list.map((one, n) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a step of an execution may stand there more than once
          <li key={`${one.execution} ${one.step} ${n}`} className="data">
            <ExecutionLink id={one.execution} />
            {one.step ? ` ${one.step}` : ''}
            {one.units > 1 ? ` ×${number(one.units)}` : ''} since <Time at={one.asked} />
          </li>
        ))}
      </ol>
    </>
  );
}
