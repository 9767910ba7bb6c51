/** Two texts as one: what was taken away, what was added. It brings an editor along, so pages load it when they need it. */
import { yaml } from '@codemirror/lang-yaml';
import { syntaxHighlighting } from '@codemirror/language';
import { unifiedMergeView } from '@codemirror/merge';
import { EditorState } from '@codemirror/state';
import { EditorView, lineNumbers } from '@codemirror/view';
import { classHighlighter } from '@lezer/highlight';
import { useEffect, useRef } from 'react';
import css from './kit.module.css';
import { nonce } from './nonce';

interface Props {
  before: string;
  after: string;
  label: string;
}

const MARGIN = 3;
const MIN_FOLD = 6;

export default function TextDiff({ before, after, label }: Props) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!box.current) return;
    const made = new EditorView({
      parent: box.current,
      state: EditorState.create({
        doc: after,
        extensions: [
          lineNumbers(),
          yaml(),
          syntaxHighlighting(classHighlighter),
          EditorState.readOnly.of(true),
          EditorView.editable.of(false),
          EditorView.lineWrapping,
          EditorView.cspNonce.of(nonce()),
          EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
          unifiedMergeView({
            original: before,
            mergeControls: false,
            collapseUnchanged: { margin: MARGIN, minSize: MIN_FOLD },
          }),
        ],
      }),
    });
    made.scrollDOM.tabIndex = 0;
    return () => made.destroy();
  }, [before, after, label]);
  if (before === after) return <p className="muted">The texts are the same.</p>;
  return <div ref={box} className={css.diff} />;
}
