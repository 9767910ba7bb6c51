import { useState } from 'react';
import type { Call } from '../api/client';
import { Copyable, Segmented } from '../kit';
import { asCli, asCurl, asPython } from './copy';

type Way = 'cli' | 'curl' | 'python';

/** The same, done elsewhere. */
export function CopyAs({ call, cli, origin }: { call: Call; cli: readonly string[]; origin: string }) {
  const [way, setWay] = useState<Way>('cli');
  const text = way === 'cli' ? asCli(cli) : way === 'curl' ? asCurl(call, origin) : asPython(call, origin);
  return (
    <div className="stack tight">
      <Segmented
        label="Copy as"
        value={way}
        onChange={setWay}
        options={[
          { value: 'cli', label: 'CLI' },
          { value: 'curl', label: 'curl' },
          { value: 'python', label: 'Python' },
        ]}
      />
      <Copyable text={text} label={way} />
    </div>
  );
}
