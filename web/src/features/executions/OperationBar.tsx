import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect } from 'react';
import { operation } from '../../api/calls';
import { keys } from '../../api/keys';
import { problemOf } from '../../api/problems';
import type { Operation } from '../../api/shapes';
import { Button, number, plural, shortId } from '../../kit';
import css from './executions.module.css';

const EVERY_MS = 1000;
const FAILURES = 5;

/** What became of an act on many, in words. */
export function said({ act, status, total, done, failed }: Operation): string {
  const share = done + failed < total ? `${number(done)} of ${number(total)}` : plural(done, 'execution');
  const name = act.charAt(0).toUpperCase() + act.slice(1);
  const parts = [`${name}: ${share}${status === 'running' ? '…' : ''}`];
  if (failed) parts.push(`${number(failed)} could not`);
  if (status === 'stopped') parts.push('stopped');
  return parts.join(' · ');
}

/** An act on many executions while it goes on, and what came of it: its id stands in the address. */
export default function OperationBar({ id, onClose }: { id: string; onClose: () => void }) {
  const client = useQueryClient();
  const found = useQuery({
    queryKey: keys.operation(id),
    queryFn: () => operation(id),
    refetchInterval: ({ state }) => (state.data && state.data.status !== 'running' ? false : EVERY_MS),
  });
  const told = found.data;
  const isOver = told !== undefined && told.status !== 'running';
  useEffect(() => {
    if (isOver) void client.invalidateQueries({ queryKey: keys.executions });
  }, [isOver, client]);
  const words = told ? said(told) : found.error ? problemOf(found.error).message : 'it is asked for…';
  return (
    <section className={css.bulk} aria-label="An act on many">
      {told ? (
        <span className={css.progress}>
          <i style={{ width: `${((told.done + told.failed) / Math.max(1, told.total)) * 100}%` }} />
        </span>
      ) : null}
      <strong role="status">{words}</strong>
      {told?.failures.slice(0, FAILURES).map((one) => (
        <span key={one.id} className="muted data">
          <Link to="/e/$id" params={{ id: one.id }} title={one.id}>
            {shortId(one.id)}
          </Link>
          : {one.reason}
        </span>
      ))}
      {told && told.failures.length > FAILURES ? (
        <span className="muted">and {number(told.failures.length - FAILURES)} more</span>
      ) : null}
      <span className="grow" />
      <Button kind="quiet" onClick={onClose}>
        Close
      </Button>
    </section>
  );
}
