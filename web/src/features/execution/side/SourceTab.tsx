import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useRef } from 'react';
import { definition } from '../../../api/calls';
import { keys } from '../../../api/keys';
import { Answer } from '../../../kit';
import type { View } from '../view';
import css from './side.module.css';

/** The line that the selection is written in. */
function lineOf(view: View): number | undefined {
  const { sel, graph, step } = view;
  if (sel?.kind === 'arc')
    return graph?.arcs.find((arc) => arc.from === sel.from && arc.index === sel.index)?.line;
  return graph?.nodes.find((node) => node.id === step)?.line;
}

/** The text that this execution runs: the one it was started with, whatever was applied since. */
export default function SourceTab({ view }: { view: View }) {
  const found = useQuery({
    queryKey: keys.definition(view.head.digest),
    queryFn: () => definition(view.head.digest),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const line = lineOf(view);
  const here = useRef<HTMLLIElement>(null);
  const text = found.data?.text;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another line, another place
  useEffect(() => here.current?.scrollIntoView({ block: 'center' }), [line, text]);
  const lines = useMemo(() => (text ?? '').split('\n').map((one, n) => ({ n: n + 1, text: one })), [text]);
  return (
    <Answer of={found} lines={20}>
      {() => (
        <ol className={css.source}>
          {lines.map((one) => (
            <li key={one.n} ref={one.n === line ? here : undefined} data-here={one.n === line || undefined}>
              <code className="data">{one.text || ' '}</code>
            </li>
          ))}
        </ol>
      )}
    </Answer>
  );
}
