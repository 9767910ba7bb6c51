import { describe, expect, test } from 'vitest';
import { pieces } from './hints';

describe('words about a word', () => {
  test('are text, with what is strong and what is code apart', () => {
    expect(pieces('**mode**: one of `all`, `any`.')).toEqual([
      { kind: 'strong', text: 'mode' },
      { kind: 'text', text: ': one of ' },
      { kind: 'code', text: 'all' },
      { kind: 'text', text: ', ' },
      { kind: 'code', text: 'any' },
      { kind: 'text', text: '.' },
    ]);
  });

  test('are never markup: tags stay text, and half a mark too', () => {
    expect(pieces('<b>**')).toEqual([{ kind: 'text', text: '<b>**' }]);
    expect(pieces('')).toEqual([]);
  });
});
