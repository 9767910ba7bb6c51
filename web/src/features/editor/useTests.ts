import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { runTests, type Tested } from '../../api/authoring';
import { recalled, remember } from '../../kit';
import { fileNamed } from './cases';

export interface TestsKept {
  text: string;
  setText: (text: string) => void;
  run: () => void;
  tested: Tested | null;
  error: unknown;
  busy: boolean;
}

/** The test file of a playbook: this browser keeps it, the server runs it against the text that is typed. */
export function useTests(path: string, playbook: string): TestsKept {
  const name = `test.${path}`;
  const [text, setText] = useState(() => recalled(name) ?? '');
  const ran = useMutation({
    mutationFn: () => {
      const file = fileNamed(text);
      return runTests(text, file ? { [file]: playbook } : {});
    },
  });
  return {
    text,
    setText: (next) => {
      setText(next);
      remember(name, next);
    },
    run: () => {
      if (text.trim() && !ran.isPending) ran.mutate();
    },
    tested: ran.data ?? null,
    error: ran.isError ? ran.error : null,
    busy: ran.isPending,
  };
}
