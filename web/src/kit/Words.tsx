import { type Ref, useEffect, useRef, useState } from 'react';
import { TextField } from './controls';
import { useRested } from './useRested';

interface Props {
  label: string;
  placeholder: string;
  /** What is asked for now, as the address says. */
  words: string;
  onWords: (words: string) => void;
  ref?: Ref<HTMLInputElement>;
}

/** Words that a list is narrowed by: they are asked for when whoever types them rests. */
export function Words({ label, placeholder, words, onWords, ref }: Props) {
  const [typed, setTyped] = useState(words);
  const rested = useRested(typed);
  const said = useRef(words);
  useEffect(() => {
    if (words !== said.current) setTyped(words); // another way to the page, or the filter was cleared
    said.current = words;
  }, [words]);
  useEffect(() => {
    if (rested.trim() === said.current) return;
    said.current = rested.trim();
    onWords(said.current);
  }, [rested, onWords]);
  return (
    <TextField
      ref={ref}
      hideLabel
      label={label}
      placeholder={placeholder}
      value={typed}
      onChange={setTyped}
    />
  );
}
