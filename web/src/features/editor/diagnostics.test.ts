import { describe, expect, it } from 'vitest';
import type { Finding } from '../../api/authoring';
import { hindered, mended, Places, spanOf, troubled } from './diagnostics';

const TEXT = 'ab\n\ncde';

function finding(change: Partial<Finding>): Finding {
  return {
    severity: 'error',
    code: 'P1',
    line: 1,
    column: 1,
    end_line: 1,
    end_column: 2,
    message: '',
    hint: '',
    fixes: [],
    ...change,
  };
}

describe('places of a text', () => {
  const places = new Places(TEXT);
  it('are offsets', () => {
    expect([places.at(1, 1), places.at(1, 3), places.at(2, 1), places.at(3, 2)]).toEqual([0, 2, 3, 5]);
  });
  it('outside of it are moved to its ends', () => {
    expect([places.at(0, 0), places.at(1, 99), places.at(9, 9)]).toEqual([0, 2, 7]);
  });
  it('are found again for every offset', () => {
    for (let n = 0; n <= TEXT.length; n++) {
      const { line, column } = places.of(n);
      expect(places.at(line, column)).toBe(n);
    }
  });
});

it('a problem stands from its place to its end, never backwards', () => {
  const places = new Places(TEXT);
  expect(spanOf(finding({ line: 3, column: 1, end_line: 3, end_column: 3 }), places)).toEqual({
    from: 4,
    to: 6,
  });
  expect(spanOf(finding({ line: 3, column: 2, end_line: 1, end_column: 1 }), places)).toEqual({
    from: 5,
    to: 5,
  });
});

it('says why it cannot be applied', () => {
  expect(hindered([finding({})], true)).toBe('1 error');
  expect(hindered([finding({ severity: 'warning' })], true)).toBeNull();
  expect(hindered([], false)).toBe('nothing has changed');
});

it('a fix puts its words where it says, and nothing else is touched', () => {
  const fix = { title: '', line: 3, column: 2, end_line: 3, end_column: 3, text: 'DD' };
  expect(mended(TEXT, fix)).toBe('ab\n\ncDDe');
  expect(mended(TEXT, { ...fix, line: 9, column: 9, end_line: 1 })).toBe(`${TEXT}DD`);
});

it('a step has the worst problem in its lines; what stands at the margin is of no step', () => {
  const steps = [
    { step: 'a', line: 5 },
    { step: 'b', line: 9 },
  ];
  const warning = finding({ severity: 'warning', code: 'P505', line: 6, column: 7 });
  const error = finding({ code: 'P101', line: 7, column: 7 });
  const found = troubled([warning, error, finding({ line: 12, column: 1 })], steps);
  expect([...found].map(([step, one]) => [step, one.code])).toEqual([['a', 'P101']]);
  expect(troubled([warning], steps).get('a')?.code).toBe('P505');
  expect(troubled([finding({ line: 2, column: 3 })], steps).size).toBe(0);
});
