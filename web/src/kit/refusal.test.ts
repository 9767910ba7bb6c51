import { expect, test } from 'vitest';
import { nested, refusedAt } from './refusal';

const W = 'the workload does not fit: ';

test.each([
  [`${W}amount: 0 is less than the minimum of 1`, ['amount'], '0 is less than the minimum of 1'],
  [`${W}lines[2].name: "x: y" is too short`, ['lines', '2', 'name'], '"x: y" is too short'],
  [`${W}"who" is a required property`, ['who'], 'this is needed'],
  [`${W}deep: "who" is a required property`, ['deep', 'who'], 'this is needed'],
  ['the form is not filled in as it should be: note: too long', ['note'], 'too long'],
])('%s', (detail, path, message) => {
  expect(refusedAt(detail)).toEqual({ path, message });
});

test('what is about no field stands at none', () => {
  expect(refusedAt("there is no step 'a'")).toBeNull();
  expect(refusedAt(`${W}{"a": 1} has less than 2 properties`)).toBeNull();
});

test('the form gets it nested as its fields are', () => {
  expect(nested({ path: ['lines', '2', 'name'], message: 'no' })).toEqual({
    lines: { 2: { name: { __errors: ['no'] } } },
  });
  expect(nested(null)).toEqual({});
});
