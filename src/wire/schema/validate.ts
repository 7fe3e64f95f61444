/** Schemas compiled once, when they are first needed; the first violation becomes a `GatewayError` that names the offending field. */
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { Static, TSchema } from 'typebox';
import { GatewayError } from '../../core/conditions.ts';

/** The schemas are ours and tested: the start does not check them against the schema of schemas. */
const ajv = new Ajv({
  allErrors: false,
  strict: false,
  coerceTypes: false,
  useDefaults: false,
  meta: false,
  validateSchema: false,
});
/** A field's name comes from the client: a long one is cut. */
const PARAM_LENGTH_MAX = 200;

/** Returns the value itself, typed. Throws `GatewayError('invalid_request')`. */
export type Validator<Schema extends TSchema> = (value: unknown) => Static<Schema>;

export function validator<Schema extends TSchema>(schema: Schema): Validator<Schema> {
  let check: ValidateFunction<Static<Schema>> | null = null;
  return (value) => {
    check ??= ajv.compile<Static<Schema>>(schema);
    if (check(value)) return value;
    throw violation(check.errors ?? []);
  };
}

function violation(errors: readonly ErrorObject[]): GatewayError {
  const path = deepestPath(errors);
  const here = errors.filter((error) => errorPath(error) === path && !isSummary(error));
  const param = jsonPath(path);
  const sentence = describe(here);
  if (param === '') return new GatewayError('invalid_request', { message: `The request body ${sentence}.` });
  return new GatewayError('invalid_request', { param, message: `${param} ${sentence}.` });
}

/** Errors that only say that the ones below them happened. */
function isSummary(error: ErrorObject): boolean {
  return error.keyword === 'anyOf' || error.keyword === 'if';
}

/** A union reports every branch; the branch that got deepest is the one that the client meant. */
function deepestPath(errors: readonly ErrorObject[]): string {
  let best = '';
  let bestDepth = -1;
  for (const error of errors) {
    if (isSummary(error)) continue;
    const path = errorPath(error);
    const depth = path.split('/').length;
    if (depth > bestDepth) {
      best = path;
      bestDepth = depth;
    }
  }
  return best;
}

function errorPath(error: ErrorObject): string {
  const name = error.params.missingProperty ?? error.params.additionalProperty;
  return typeof name === 'string' ? `${error.instancePath}/${escapeName(name)}` : error.instancePath;
}

function escapeName(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

function describe(errors: readonly ErrorObject[]): string {
  const first = errors[0];
  if (first === undefined) return 'is not valid';
  const types = errors.filter((error) => error.keyword === 'type').map((error) => withArticle(error.params.type));
  if (types.length > 0) return `must be ${alternatives([...new Set(types)])}`;
  switch (first.keyword) {
    case 'required':
      return 'is required';
    case 'additionalProperties':
      return 'is not a known field';
    case 'enum':
      return `must be one of ${alternatives(first.params.allowedValues.map(String))}`;
    case 'const':
      return `must be ${JSON.stringify(first.params.allowedValue)}`;
    case 'minLength':
    case 'minItems':
      return `must not be empty`;
    case 'maxItems':
      return `must not have more than ${first.params.limit} items`;
    default:
      return first.message ?? 'is not valid';
  }
}

function withArticle(type: string): string {
  if (type === 'null') return type;
  return /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`;
}

function alternatives(names: readonly string[]): string {
  const last = names.at(-1) ?? '';
  return names.length > 1 ? `${names.slice(0, -1).join(', ')} or ${last}` : last;
}

/** `/messages/0/role` becomes `messages[0].role`. */
function jsonPath(pointer: string): string {
  let path = '';
  for (const part of pointer.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (/^\d+$/.test(name)) path += `[${name}]`;
    else path += path === '' ? name : `.${name}`;
  }
  return path.length > PARAM_LENGTH_MAX ? `${path.slice(0, PARAM_LENGTH_MAX)}…` : path;
}
