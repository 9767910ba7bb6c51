import { describe, expect, it, test } from 'vitest';
import { merged } from './merge';

const BASE = 'a\nb\nc\nd\ne\n';

describe('two changes of one text', () => {
  it('that do not touch are both kept', () => {
    const found = merged(BASE, 'A\nb\nc\nd\ne\n', 'a\nb\nc\nd\nE\nf\n');
    expect(found).toEqual({ text: 'A\nb\nc\nd\nE\nf\n', conflicts: 0 });
  });
  it('that are the same are made once', () => {
    expect(merged(BASE, 'a\nX\nc\nd\ne\n', 'a\nX\nc\nd\ne\n')).toEqual({
      text: 'a\nX\nc\nd\ne\n',
      conflicts: 0,
    });
  });
  it('of one place stand there both', () => {
    const found = merged(BASE, 'a\nmine\nc\nd\ne\n', 'a\ntheirs\nc\nd\ne\n');
    expect(found.conflicts).toBe(1);
    expect(found.text).toBe('a\n<<<<<<< mine\nmine\n=======\ntheirs\n>>>>>>> theirs\nc\nd\ne\n');
  });
  it('one of which takes away what the other changed are a conflict, and nothing is lost', () => {
    const found = merged(BASE, 'a\ne\n', 'a\nb\nC\nd\ne\n');
    expect(found.conflicts).toBe(1);
    expect(found.text).toContain('C\n');
  });
  it('at the end of a text without a last line break', () => {
    expect(merged('a', 'a\nmine', 'a\ntheirs').text).toBe(
      '<<<<<<< mine\na\nmine\n=======\na\ntheirs\n>>>>>>> theirs\n',
    );
  });
});

/** Numbers that look random and are the same every time. */
function dice(seed: number): (n: number) => number {
  let at = seed;
  return (n) => {
    at = (at * 1103515245 + 12345) % 2147483648;
    return Math.floor((at / 2147483648) * n);
  };
}

function changed(text: string, roll: (n: number) => number): string {
  const lines = text.split('\n');
  for (let n = roll(4); n > 0; n--) {
    const at = roll(lines.length + 1);
    if (roll(2)) lines.splice(at, roll(3));
    else lines.splice(at, 0, `new ${roll(5)}`);
  }
  return lines.join('\n');
}

test('whatever was changed: one side alone wins, both alike win, and the order of sides decides nothing', () => {
  for (let seed = 1; seed < 400; seed++) {
    const roll = dice(seed);
    const base = Array.from({ length: roll(12) }, () => `line ${roll(6)}`).join('\n');
    const [mine, theirs] = [changed(base, roll), changed(base, roll)];
    expect(merged(base, mine, base)).toEqual({ text: mine, conflicts: 0 });
    expect(merged(base, base, theirs)).toEqual({ text: theirs, conflicts: 0 });
    expect(merged(base, mine, mine)).toEqual({ text: mine, conflicts: 0 });
    const [one, two] = [merged(base, mine, theirs), merged(base, theirs, mine)];
    expect(one.conflicts).toBe(two.conflicts);
    if (!one.conflicts) expect(one.text).toBe(two.text);
    for (const line of mine.split('\n')) {
      if (!base.split('\n').includes(line)) expect(one.text).toContain(line);
    }
  }
});
