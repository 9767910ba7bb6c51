/** Forms are held against their JSON Schema by interpreting it: nothing is compiled, for our CSP forbids `eval`. */
import { type OutputUnit, Validator } from '@cfworker/json-schema';
import type {
  CustomValidator,
  ErrorTransformer,
  RJSFSchema,
  RJSFValidationError,
  UiSchema,
  ValidationData,
  ValidatorType,
} from '@rjsf/utils';
import { createErrorHandler, toErrorSchema, unwrapErrorHandler, validationDataMerge } from '@rjsf/utils';

/** Errors that only say that something inside is wrong. */
const OUTER = new Set(['properties', 'items', 'allOf', '$ref', 'additionalProperties', 'if']);

function pathOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'));
}

const MISSING = /required property "(.+?)"/;

/** One error of the validator as the form has it: a missing field's error stands at that field. */
export function formError(unit: OutputUnit): RJSFValidationError {
  const path = pathOf(unit.instanceLocation.replace(/^#/, ''));
  const missing = unit.keyword === 'required' ? MISSING.exec(unit.error)?.[1] : undefined;
  if (missing) path.push(missing);
  const message = missing ? 'this is needed' : unit.error;
  return {
    name: unit.keyword,
    message,
    property: path.length ? `.${path.join('.')}` : '.',
    stack: `${path.join('.') || 'the form'}: ${message}`,
  };
}

function errorsOf(schema: RJSFSchema, data: unknown): RJSFValidationError[] {
  const found = new Validator(schema as object, '2020-12', false).validate(data ?? {});
  return found.errors.filter((unit) => !OUTER.has(unit.keyword)).map(formError);
}

export const validator: ValidatorType = {
  validateFormData(
    data: unknown,
    schema: RJSFSchema,
    custom?: CustomValidator,
    transform?: ErrorTransformer,
    ui?: UiSchema,
  ): ValidationData<unknown> {
    const found = errorsOf(schema, data);
    const errors = transform ? transform(found, ui) : found;
    const told: ValidationData<unknown> = { errors, errorSchema: toErrorSchema(errors) };
    if (!custom) return told;
    const handled = custom(data, createErrorHandler(data), ui);
    return validationDataMerge(told, unwrapErrorHandler(handled));
  },
  isValid(schema: RJSFSchema, data: unknown, root: RJSFSchema): boolean {
    try {
      const whole = root.$defs || root.definitions ? { ...root, ...schema } : schema;
      return new Validator(whole as object, '2020-12', true).validate(data ?? {}).valid;
    } catch {
      return false; // a schema that cannot be read fits nothing
    }
  },
  rawValidation<Result>(schema: RJSFSchema, data?: unknown): { errors?: Result[] } {
    return { errors: errorsOf(schema, data) as Result[] };
  },
};

export default validator;
