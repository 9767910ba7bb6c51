import { type ComponentProps, lazy, Suspense } from 'react';
import { Skeleton } from '../../kit';

/** It brings the drawing of graphs along, which a text alone does not need. */
const StoryViewer = lazy(() => import('../../viewer/StoryViewer'));

/** A story of a text: a counter-example, a case, a walk. */
export function Played(props: ComponentProps<typeof StoryViewer>) {
  return (
    <Suspense fallback={<Skeleton lines={12} />}>
      <StoryViewer {...props} />
    </Suspense>
  );
}
