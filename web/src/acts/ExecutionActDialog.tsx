import type { ComponentProps } from 'react';
import { ActDialog } from './ActDialog';
import type { ActView } from './act';

/** The dialog of an act on an execution, fetched when the first is asked for. */
export default function ExecutionActDialog(props: ComponentProps<typeof ActDialog<ActView>>) {
  return <ActDialog {...props} />;
}
