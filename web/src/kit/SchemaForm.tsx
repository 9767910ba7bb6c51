/** A form made from a JSON Schema. It is large, so pages load it when they need it. */
import { withTheme } from '@rjsf/core';
import { Theme } from '@rjsf/mantine';
import type { ErrorSchema, FieldErrorProps, RJSFSchema } from '@rjsf/utils';
import { Component, type ReactNode } from 'react';
import type { Json } from '../api/shapes';
import css from './kit.module.css';
import { type FieldError, nested } from './refusal';
import { validator } from './validator';

const Form = withTheme(Theme);

interface Props {
  schema: Record<string, Json>;
  data: Json;
  onChange: (data: Json) => void;
  readonly?: boolean;
  /** How many things do not fit, at every change. */
  onErrors?: (number: number) => void;
  /** What the server refused of it. */
  refused?: FieldError | null;
}

/** Fields that have an input say themselves what is wrong with them; the others are spoken for. */
function Wrong({ errors, schema }: FieldErrorProps) {
  if (!errors?.length || (schema.type !== 'object' && schema.type !== 'array')) return null;
  return (
    <p role="alert" className={css.wrong}>
      {errors.map(String).join('; ')}
    </p>
  );
}

const TEMPLATES = { FieldErrorTemplate: Wrong };
const UI = { 'ui:submitButtonOptions': { norender: true } } as const;

/** What is filled in goes out at every change; who holds the page decides when it is sent. */
export default function SchemaForm({ schema, data, onChange, readonly, onErrors, refused }: Props) {
  return (
    <Unreadable key={JSON.stringify(schema)}>
      <Form
        tagName="div"
        className={css.form}
        schema={schema as RJSFSchema}
        uiSchema={UI}
        templates={TEMPLATES}
        validator={validator}
        formData={data}
        onChange={(change) => {
          onErrors?.(change.errors.length);
          onChange((change.formData ?? null) as Json);
        }}
        extraErrors={nested(refused ?? null) as ErrorSchema}
        disabled={readonly ?? false}
        liveValidate="onChange"
        showErrorList={false}
        noHtml5Validate
      />
    </Unreadable>
  );
}

/** A schema that no form can be made of must not take the page away. */
class Unreadable extends Component<{ children: ReactNode }, { why: string | null }> {
  override state = { why: null };
  static getDerivedStateFromError(error: unknown) {
    return { why: error instanceof Error ? error.message : String(error) };
  }
  override render() {
    return this.state.why === null ? (
      this.props.children
    ) : (
      <p role="alert">No form can be made of this schema: {this.state.why}</p>
    );
  }
}
