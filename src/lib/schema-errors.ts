/**
 * What a JSON schema refuses, in words for people: API clients, operators and authors of config files read the same
 * sentences. They never contain the refused value, which may be a secret.
 */
import type { ErrorObject } from 'ajv';

/** What the reader's format calls the types of JSON. */
export type TypeNames = Readonly<Record<string, string>>;

const JSON_TYPES: TypeNames = {
  object: 'an object',
  array: 'an array',
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'a boolean',
  null: 'null',
};

/** The predicate of a sentence about the member that all these errors are about: `must be a string or null`. */
export function describeErrors(errors: readonly ErrorObject[], types: TypeNames = JSON_TYPES): string {
  // The last one is the outermost: a union says what all its branches together expect.
  const own = errors.findLast(({ parentSchema }) => typeof parentSchema?.expected === 'string');
  if (own !== undefined) return `must be ${own.parentSchema?.expected}`;
  const [first] = errors.filter((error) => !isSummary(error));
  if (first === undefined) return 'is not valid';
  const expected = errors.filter(({ keyword }) => keyword === 'type').map(({ params }) => String(params.type));
  if (expected.length > 0) {
    return `must be ${alternatives([...new Set(expected)].map((type) => types[type] ?? type))}`;
  }
  const { keyword, params, parentSchema, propertyName } = first;
  switch (keyword) {
    case 'required':
      return 'is required';
    case 'additionalProperties':
      return 'is not a known field';
    case 'enum':
      return `must be ${expectedValue({ enum: params.allowedValues })}`;
    case 'const':
      return `must be ${JSON.stringify(params.allowedValue)}`;
    case 'pattern':
      return String(parentSchema?.patternErrorMessage ?? first.message);
    case 'minimum':
    case 'maximum':
    case 'exclusiveMinimum':
      return parentSchema === undefined
        ? `must be ${params.comparison} ${params.limit}`
        : rangeSentence(parentSchema, types);
    case 'minLength':
      return 'must not be empty';
    case 'maxLength':
      return `must not have ${propertyName === undefined ? '' : 'a name of '}more than ${params.limit} characters`;
    case 'maxProperties':
      return `must not have more than ${params.limit} fields`;
    case 'minItems':
      return `must have at least ${params.limit} item${params.limit === 1 ? '' : 's'}`;
    case 'maxItems':
      return `must not have more than ${params.limit} items`;
    case 'uniqueItems':
      return `must not repeat an item (items ${params.i} and ${params.j} are equal)`;
    default:
      return first.message ?? 'is not valid';
  }
}

/** What a member of this schema may be, as it follows `must be`; null where the schema does not say it in words. */
export function expectedValue(schema: unknown): string | null {
  if (typeof schema !== 'object' || schema === null) return null;
  if ('expected' in schema) return String(schema.expected);
  return 'enum' in schema && Array.isArray(schema.enum) ? `one of ${schema.enum.join(', ')}` : null;
}

/** Where the value is wrong, as a JSON pointer; for a missing or unknown member the place where that member is or would be. */
export function errorPointer(error: ErrorObject): string {
  const name: unknown = error.params.missingProperty ?? error.params.additionalProperty;
  return typeof name === 'string'
    ? `${error.instancePath}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    : error.instancePath;
}

/**
 * The errors about one member: a union reports every branch that failed, and the branch that got deepest is the one
 * that was meant.
 */
export function deepestErrors(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  let found: ErrorObject[] = [];
  let pointer = '';
  let depth = -1;
  for (const error of errors) {
    if (isSummary(error)) continue;
    const here = errorPointer(error);
    const hereDepth = here.split('/').length;
    if (hereDepth > depth) [found, pointer, depth] = [[], here, hereDepth];
    if (here === pointer) found.push(error);
  }
  return found;
}

/** `messages[0].role` for the JSON pointer `/messages/0/role` into this value. */
export function readablePath(pointer: string, value: unknown): string {
  let path = '';
  let parent = value;
  for (const escaped of pointer.split('/').slice(1)) {
    const name = escaped.replaceAll('~1', '/').replaceAll('~0', '~');
    path = joinPath(path, Array.isArray(parent) ? Number(name) : name);
    parent = typeof parent === 'object' && parent !== null ? Reflect.get(parent, name) : undefined;
  }
  return path;
}

/** `models[0].id`; a key that is not a plain word is quoted. */
export function joinPath(parent: string, key: string | number): string {
  if (typeof key === 'number') return `${parent}[${key}]`;
  if (!/^[A-Za-z_][\w-]*$/.test(key)) return `${parent}[${JSON.stringify(key)}]`;
  return parent === '' ? key : `${parent}.${key}`;
}

/** Errors that only say that the ones below them happened. */
function isSummary({ keyword }: ErrorObject): boolean {
  return keyword === 'anyOf' || keyword === 'if';
}

function rangeSentence(schema: NonNullable<ErrorObject['parentSchema']>, types: TypeNames): string {
  const kind = types[String(schema.type)] ?? 'a number';
  const { exclusiveMinimum: above, minimum, maximum } = schema;
  if (above !== undefined) return `must be ${kind} above ${above} and at most ${maximum}`;
  return `must be ${kind} from ${minimum} ${maximum === undefined ? 'up' : `to ${maximum}`}`;
}

function alternatives(names: readonly string[]): string {
  const last = names.at(-1) ?? '';
  return names.length > 1 ? `${names.slice(0, -1).join(', ')} or ${last}` : last;
}
