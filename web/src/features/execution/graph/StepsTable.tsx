import { useMemo } from 'react';
import type { GraphNode } from '../../../api/shapes';
import { type Column, Empty, Name, number, State, VirtualTable } from '../../../kit';
import { isOf, lookOfStep } from '../../../viewer/looks';
import type { View } from '../view';

/** The graph as a table: the same facts for who does not see it. */
export function StepsTable({ view }: { view: View }) {
  const { story, seq, graph, waiting } = view;
  const marking = story.markingAt(seq);
  const steps = useMemo(
    () => (graph?.nodes ?? []).filter((node) => node.step && node.kind !== 'dot'),
    [graph],
  );
  const facts = (node: GraphNode) => story.stepAt(seq, node.step ?? node.id, marking);
  const look = (node: GraphNode) => lookOfStep(facts(node), waiting.get(node.id));
  const { only } = view.search;
  const columns: Column<GraphNode>[] = [
    {
      id: 'step',
      head: 'Step',
      width: 'minmax(120px, 1fr)',
      cell: (node) => <Name>{node.label ?? node.id}</Name>,
    },
    {
      id: 'state',
      head: 'State',
      width: '160px',
      cell: (node) => <State {...look(node)} />,
    },
    { id: 'started', head: 'Started', width: '80px', cell: (node) => number(facts(node).started) },
    { id: 'active', head: 'Active', width: '80px', cell: (node) => number(facts(node).active) },
    { id: 'ready', head: 'Waiting', width: '80px', cell: (node) => number(facts(node).ready) },
    { id: 'failed', head: 'Failed', width: '80px', cell: (node) => number(facts(node).failed) },
    {
      id: 'next',
      head: 'Leads to',
      width: 'minmax(120px, 2fr)',
      cell: (node) =>
        (graph?.arcs ?? [])
          .filter((arc) => arc.from === node.id)
          .map((arc) => arc.to)
          .join(', ') || 'the end',
    },
  ];
  return (
    <VirtualTable
      label="Steps"
      columns={columns}
      rows={only ? steps.filter((node) => isOf(only, look(node))) : steps}
      empty={<Empty title={`No step is ${only} at this record`} />}
      keyOf={(node) => node.id}
      selected={view.step}
      onSelect={(node) => view.select({ kind: 'step', step: node.step ?? node.id })}
    />
  );
}
