/** Whether input has the shape of its schema. Every refusal names the field and says what it must be. */
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { TSchema } from 'typebox';
import { describeErrors, errorPointer, expectedValue } from '../../lib/schema-errors.ts';
import { AdminError } from '../error.ts';
import type { View } from './view.ts';

export interface ObjectSchema extends TSchema {
  readonly properties: Readonly<Record<string, unknown>>;
}

/** What the fields of an input are called in a message. */
interface Words {
  readonly whole: string;
  readonly field: string;
}

const BODY: Words = { whole: 'the body must be a JSON object', field: 'field' };
const QUERY: Words = { whole: 'the query must have parameters', field: 'query parameter' };

const SETTINGS = { verbose: true, strict: false, validateSchema: false };
const bodies = compiler(new Ajv(SETTINGS));
/** A query has only texts: `?limit=5` is a number where the schema wants one. */
const queries = compiler(new Ajv({ ...SETTINGS, coerceTypes: 'array', useDefaults: true }));

export function validBody<Schema extends ObjectSchema>(schema: Schema, value: unknown): View<Schema> {
  return valid(bodies(schema), schema, value, BODY);
}

/** The parameters after their conversion to the types of the schema. */
export function validQuery<Schema extends ObjectSchema>(schema: Schema, value: object): View<Schema> {
  return valid(queries(schema), schema, { ...value }, QUERY);
}

/** Each schema is compiled when it is first used. */
function compiler(ajv: Ajv): (schema: ObjectSchema) => ValidateFunction {
  const compiled = new WeakMap<ObjectSchema, ValidateFunction>();
  return (schema) => {
    const known = compiled.get(schema);
    if (known !== undefined) return known;
    const check = ajv.compile(schema);
    compiled.set(schema, check);
    return check;
  };
}

function valid<Schema extends ObjectSchema>(
  check: ValidateFunction,
  schema: Schema,
  value: unknown,
  words: Words,
): View<Schema> {
  if (check(value)) return value as View<Schema>;
  throw refusal(schema, value, check.errors ?? [], words);
}

function refusal(schema: ObjectSchema, value: unknown, errors: readonly ErrorObject[], words: Words): AdminError {
  const [first] = errors;
  const field = first === undefined ? '' : (errorPointer(first).split('/')[1] ?? '');
  const names = fieldNames(schema).join(', ');
  switch (first?.instancePath === '' ? first.keyword : '') {
    case 'type':
      return new AdminError('invalid_input', `${words.whole} with ${names}`);
    case 'additionalProperties':
      return new AdminError(
        'invalid_input',
        `unknown ${words.field} ${quote(first?.params.additionalProperty)}: expected one of ${names}`,
      );
    case 'required':
      return missing(schema, field);
    default:
      return invalid(field, `is ${quote(Reflect.get(Object(value), field))}: ${describeErrors(errors)}`);
  }
}

export function fieldNames(schema: ObjectSchema): readonly string[] {
  return Object.keys(schema.properties);
}

export function missing(schema: ObjectSchema, field: string): AdminError {
  return invalid(field, `is missing: must be ${expectedValue(schema.properties[field])}`);
}

/** For what no schema can say, like a day that does not exist. */
export function unexpected(schema: ObjectSchema, field: string, value: unknown): AdminError {
  return invalid(field, `is ${quote(value)}: must be ${expectedValue(schema.properties[field])}`);
}

export function invalid(field: string, predicate: string): AdminError {
  return new AdminError('invalid_input', `${field} ${predicate}`, { field });
}

function quote(value: unknown): string {
  const text = (JSON.stringify(value) ?? 'undefined').replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, '\u{fffd}');
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
