import { describe, expect, it } from 'vitest';
import { validator } from './validator';

const SCHEMA = {
  type: 'object',
  required: ['amount'],
  properties: {
    amount: { type: 'number', minimum: 0 },
    lines: { type: 'array', items: { type: 'object', properties: { 'a/b': { type: 'string' } } } },
  },
} as const;

function errors(data: unknown) {
  const found = validator.validateFormData(data, SCHEMA as never).errors;
  return found.map((one) => [one.property, one.name]);
}

describe('a form held against its schema', () => {
  it('puts a missing field at that field', () => {
    expect(errors({})).toEqual([['.amount', 'required']]);
  });
  it('says only what is wrong, not what contains it', () => {
    expect(errors({ amount: -1 })).toEqual([['.amount', 'minimum']]);
    expect(errors({ amount: 1, lines: [{ 'a/b': 1 }] })).toEqual([['.lines.0.a/b', 'type']]);
  });
  it('is quiet where all is well', () => {
    expect(errors({ amount: 1 })).toEqual([]);
    expect(validator.isValid(SCHEMA as never, { amount: 1 }, SCHEMA as never)).toBe(true);
  });
  it('calls nothing valid under a schema that cannot be read', () => {
    const bad = { $ref: '#/nowhere' };
    expect(validator.isValid(bad as never, {}, bad as never)).toBe(false);
  });
});
