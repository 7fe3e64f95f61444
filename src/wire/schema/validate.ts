/** Schemas compiled once, when they are first needed; the first violation becomes a `GatewayError` that names the offending field. */
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { Static, TSchema } from 'typebox';
import { GatewayError } from '../../core/conditions.ts';
import { deepestErrors, describeErrors, errorPointer, readablePath } from '../../lib/schema-errors.ts';

/** The schemas are ours and tested: the start does not check them against the schema of schemas. */
const ajv = new Ajv({
  allErrors: false,
  strict: false,
  coerceTypes: false,
  useDefaults: false,
  meta: false,
  validateSchema: false,
});

/** Returns the value itself, typed. Throws `GatewayError('invalid_request')`. */
type Validator<Schema extends TSchema> = (value: unknown) => Static<Schema>;

export function validator<Schema extends TSchema>(schema: Schema): Validator<Schema> {
  let check: ValidateFunction<Static<Schema>> | null = null;
  return (value) => {
    check ??= ajv.compile<Static<Schema>>(schema);
    if (check(value)) return value;
    throw violation(check.errors ?? [], value);
  };
}

function violation(errors: readonly ErrorObject[], value: unknown): GatewayError {
  const here = deepestErrors(errors);
  const param = here[0] === undefined ? '' : readablePath(errorPointer(here[0]), value);
  const sentence = describeErrors(here);
  if (param === '') return new GatewayError('invalid_request', { message: `The request body ${sentence}.` });
  return new GatewayError('invalid_request', { param, message: `${param} ${sentence}.` });
}
