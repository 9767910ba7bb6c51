import { useQuery } from '@tanstack/react-query';
import { logs } from '../../../api/calls';
import { keys } from '../../../api/keys';
import type { LogLine } from '../../../api/shapes';
import { Answer, Empty, millis, Name, VirtualTable } from '../../../kit';
import type { View } from '../view';
import css from './side.module.css';

/** What the tasks printed. */
export default function LogsTab({ view }: { view: View }) {
  const found = useQuery({
    queryKey: keys.logs(view.id, view.latest),
    queryFn: () => logs(view.id),
    placeholderData: (was) => was,
  });
  return <Answer of={found}>{(told) => <Printed view={view} told={told} />}</Answer>;
}

function Printed({ view, told }: { view: View; told: LogLine[] }) {
  const lines = told
    .filter((line) => !view.step || line.step === view.step)
    .map((line, n) => ({ ...line, key: String(n) }));
  if (!lines.length) {
    return (
      <Empty title="Nothing was printed">
        <p>
          What a task prints or logs appears here{view.step ? `; of '${view.step}' there is nothing` : ''}.
        </p>
      </Empty>
    );
  }
  return (
    <div className={css.tall}>
      <VirtualTable
        label="Lines"
        rowHeight={22}
        columns={[
          {
            id: 'at',
            head: 'Time',
            width: '108px',
            cell: (line) => <span className="mono">{millis(line.at * 1000)}</span>,
          },
          {
            id: 'step',
            head: 'Step',
            width: 'minmax(64px, 120px)',
            cell: (line) => <Name>{line.step}</Name>,
          },
          {
            id: 'text',
            head: 'Line',
            width: 'minmax(160px, 1fr)',
            cell: (line) => (
              <code className="data" title={line.text.slice(0, 2000)}>
                {line.text.slice(0, 2000)}
              </code>
            ),
          },
        ]}
        rows={lines}
        keyOf={(line) => line.key}
        follow={view.live}
      />
    </div>
  );
}
