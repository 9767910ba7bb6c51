import { autocompletion, type CompletionContext } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { bracketMatching, foldGutter, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { EditorState } from '@codemirror/state';
import { EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { classHighlighter } from '@lezer/highlight';
import { useEffect, useRef } from 'react';
import { complete, type Finding } from '../../api/authoring';
import { nonce } from '../../kit/nonce';
import { fixed, Places, spanOf } from './diagnostics';
import css from './editor.module.css';
import { hints } from './hints';

/** Where to go: a new one each time that somebody wants to go there. */
export interface Place {
  line: number;
}

interface Props {
  text: string;
  problems: readonly Finding[];
  place: Place | undefined;
  onChange: (text: string) => void;
  onLine: (line: number) => void;
  label?: string;
  /** Whether the server is asked for the words that fit: it knows those of playbooks. */
  completes?: boolean;
}

/** Ask the server which words fit here: names in scope, keys of the language. */
async function words(context: CompletionContext) {
  const text = context.state.doc.toString();
  const here = new Places(text).of(context.pos);
  if (!context.explicit && !context.matchBefore(/[\w.{$]$/)) return null;
  const found = await complete(text, here.line, here.column).catch(() => []);
  const first = found[0];
  if (!first) return null;
  const places = new Places(text);
  return {
    from: places.at(first.line, first.column),
    options: found.map((word) => ({
      label: word.label,
      detail: word.about.slice(0, 80),
      apply: word.insert,
    })),
    validFor: /^\w*$/,
  };
}

/** A text in YAML, with what is wrong where it is wrong. */
export function TextPane({ text, problems, place, onChange, onLine, ...more }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const heard = useRef({ onChange, onLine });
  heard.current = { onChange, onLine };
  // biome-ignore lint/correctness/useExhaustiveDependencies: the editor is made once; later texts are put into it
  useEffect(() => {
    if (!box.current) return;
    const made = new EditorView({
      parent: box.current,
      state: EditorState.create({
        doc: text,
        extensions: [
          lineNumbers(),
          foldGutter(),
          lintGutter(),
          history(),
          bracketMatching(),
          highlightActiveLine(),
          highlightSelectionMatches(),
          yaml(),
          syntaxHighlighting(classHighlighter),
          ...(more.completes ? [autocompletion({ override: [words] }), hints] : []),
          keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap, indentWithTab]),
          EditorView.cspNonce.of(nonce()),
          EditorView.contentAttributes.of({ 'aria-label': more.label ?? 'The text of the playbook' }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) heard.current.onChange(update.state.doc.toString());
            if (update.selectionSet) {
              heard.current.onLine(update.state.doc.lineAt(update.state.selection.main.head).number);
            }
          }),
        ],
      }),
    });
    made.scrollDOM.tabIndex = 0; // what scrolls can be scrolled with the keyboard
    view.current = made;
    return () => made.destroy();
  }, []);
  useEffect(() => {
    const now = view.current;
    if (!now || now.state.doc.toString() === text) return;
    now.dispatch({ changes: { from: 0, to: now.state.doc.length, insert: text } });
  }, [text]);
  useEffect(() => {
    const now = view.current;
    if (now)
      now.dispatch(
        setDiagnostics(
          now.state,
          problems.map((one) => marked(one, now)),
        ),
      );
  }, [problems]);
  useEffect(() => {
    const now = view.current;
    if (!now || !place) return;
    const { from, text } = now.state.doc.line(Math.min(place.line, now.state.doc.lines));
    const at = from + (/^[\s-]*/.exec(text)?.[0].length ?? 0); // on the first word of the line
    now.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: 'center' }) });
  }, [place]);
  return <div ref={box} className={css.text} />;
}

function marked(found: Finding, view: EditorView): Diagnostic {
  const places = new Places(view.state.doc.toString());
  return {
    ...spanOf(found, places),
    severity: found.severity === 'error' ? 'error' : 'warning',
    source: found.code,
    message: found.hint ? `${found.message}\n${found.hint}` : found.message,
    actions: found.fixes.map((fix) => ({
      name: fix.title,
      apply: (here) => here.dispatch({ changes: { ...fixed(fix, places), insert: fix.text } }),
    })),
  };
}
