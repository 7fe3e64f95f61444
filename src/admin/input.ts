/** Validates what an operator sent and converts it to the ledger's types. Every refusal names the field and what it must be. */
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { Static, TSchema } from 'typebox';
import type { Mode } from '../core/key.ts';
import { AMOUNT_MAX, parseCredits } from '../core/money.ts';
import type { Period } from '../core/period.ts';
import type { KeyChange } from '../ledger/port.ts';
import { describeErrors, errorPointer, expectedValue } from '../lib/schema-errors.ts';
import { AdminError } from './api.ts';
import { CreditBody, KeyChangeBody, type KeySettings, NewKeyBody, RPM_MAX } from './schema.ts';

/** A validated new key: everything but its id and its secret. */
export interface NewKeyPlan extends Required<Omit<KeyChange, 'status' | 'cap'>> {
  readonly mode: Mode;
  readonly credit: bigint;
}

export interface CreditPlan {
  readonly amountNanos: bigint;
  readonly note: string | null;
  readonly entryId: string | null;
}

const newKey = validator(NewKeyBody);
const keyChange = validator(KeyChangeBody);
const credit = validator(CreditBody);
const DEFAULT_PERIOD: Period = 'month';

export function readNewKey(input: unknown): NewKeyPlan {
  const body = newKey(input);
  const { mode } = body;
  if (mode === 'credit' && body.budget !== undefined) {
    throw invalid('budget', 'belongs to token_budget keys; a credit key takes credit instead');
  }
  if (mode === 'credit' && body.period !== undefined) {
    throw invalid('period', 'belongs to token_budget keys; a credit key has no period');
  }
  if (mode === 'token_budget' && body.credit !== undefined) {
    throw invalid('credit', 'belongs to credit keys; a token_budget key takes budget instead');
  }
  if (mode === 'token_budget' && body.budget === undefined) throw missing(NewKeyBody, 'budget');
  return {
    label: null,
    providerScope: 'all',
    models: null,
    rpmLimit: null,
    expiresAtMs: null,
    budget: null,
    period: DEFAULT_PERIOD,
    ...readSettings(body),
    mode,
    credit: body.credit === undefined ? 0n : readAmount('credit', body.credit),
  };
}

export function readKeyChange(input: unknown): KeyChange {
  if (typeof input === 'object' && input !== null && 'status' in input && input.status === 'expired') {
    throw invalid('status', 'expired follows from expires_at and cannot be set; move expires_at instead');
  }
  const body = keyChange(input);
  const change: KeyChange = { ...(body.status !== undefined && { status: body.status }), ...readSettings(body) };
  if (Object.keys(change).length === 0) {
    throw new AdminError('invalid_input', `nothing to change: give one of ${fieldNames(KeyChangeBody).join(', ')}`);
  }
  return change;
}

export function readCredit(input: unknown): CreditPlan {
  const { amount, note, entry_id } = credit(input);
  const amountNanos = readAmount('amount', amount);
  if (amountNanos === 0n) throw invalid('amount', 'must be more than 0 credits');
  return { amountNanos, note: note?.toWellFormed() ?? null, entryId: entry_id?.toWellFormed() ?? null };
}

function readSettings(body: KeySettings): Omit<KeyChange, 'status'> {
  const { label, provider_scope, models, rpm_limit, expires_at, budget, period } = body;
  return {
    ...(label !== undefined && { label: label?.toWellFormed() || null }),
    ...(provider_scope !== undefined && { providerScope: provider_scope.toWellFormed() }),
    ...(models !== undefined && { models: readModels(models) }),
    ...(rpm_limit !== undefined && { rpmLimit: readRpm(rpm_limit) }),
    ...(expires_at !== undefined && { expiresAtMs: readExpiry(expires_at) }),
    ...(budget !== undefined && { budget: readBudget(budget) }),
    ...(period !== undefined && { period }),
  };
}

function readModels(value: NonNullable<KeySettings['models']> | null): readonly string[] | null {
  if (value === null || value === 'all') return null;
  const ids = value.map((id) => id.trim().toWellFormed());
  if (ids.includes('')) throw unexpected(KeyChangeBody, 'models', value);
  return [...new Set(ids)];
}

function readRpm(value: NonNullable<KeySettings['rpm_limit']> | null): number | null {
  if (value === null || value === 'none') return null;
  const limit = Number(value);
  if (limit < 1 || limit > RPM_MAX) throw unexpected(KeyChangeBody, 'rpm_limit', value);
  return limit;
}

function readBudget(value: NonNullable<KeySettings['budget']> | null): bigint | null {
  if (value === null || value === 'unlimited') return null;
  const tokens = Number(value);
  if (!Number.isSafeInteger(tokens)) throw unexpected(KeyChangeBody, 'budget', value);
  return BigInt(tokens);
}

const ISO_TIME = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}:\d{2})?)?$/;

function readExpiry(value: string | null): number | null {
  if (value === null || value === 'never') return null;
  const [, date = '', time = '00:00', zone = 'Z'] = ISO_TIME.exec(value) ?? [];
  const dayMs = Date.parse(`${date}T00:00Z`);
  const atMs = Date.parse(`${date}T${time}${zone}`);
  // Date.parse turns February 30 into March 2; the operator meant something else.
  const exists = !Number.isNaN(dayMs) && new Date(dayMs).toISOString().startsWith(date);
  if (!exists || Number.isNaN(atMs)) throw unexpected(KeyChangeBody, 'expires_at', value);
  return atMs;
}

function readAmount(field: 'credit' | 'amount', value: string | number): bigint {
  try {
    const nanos = parseCredits(String(value));
    if (nanos <= AMOUNT_MAX) return nanos;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  throw unexpected(field === 'credit' ? NewKeyBody : CreditBody, field, value);
}

interface BodySchema extends TSchema {
  readonly properties: Readonly<Record<string, unknown>>;
}

/** Compiled when it is first used. */
function validator<Schema extends BodySchema>(schema: Schema): (value: unknown) => Static<Schema> {
  let check: ValidateFunction<Static<Schema>> | null = null;
  return (value) => {
    check ??= new Ajv({ verbose: true, strict: false, validateSchema: false }).compile<Static<Schema>>(schema);
    if (check(value)) return value;
    throw refusal(schema, value, check.errors ?? []);
  };
}

function refusal(schema: BodySchema, value: unknown, errors: readonly ErrorObject[]): AdminError {
  const [first] = errors;
  const field = first === undefined ? '' : (errorPointer(first).split('/')[1] ?? '');
  const names = fieldNames(schema).join(', ');
  switch (first?.instancePath === '' ? first.keyword : '') {
    case 'type':
      return new AdminError('invalid_input', `the body must be a JSON object with ${names}`);
    case 'additionalProperties':
      return new AdminError(
        'invalid_input',
        `unknown field ${quote(first?.params.additionalProperty)}: expected one of ${names}`,
      );
    case 'required':
      return missing(schema, field);
    default:
      return invalid(field, `is ${quote(Reflect.get(Object(value), field))}: ${describeErrors(errors)}`);
  }
}

function fieldNames(schema: BodySchema): readonly string[] {
  return Object.keys(schema.properties);
}

function missing(schema: BodySchema, field: string): AdminError {
  return invalid(field, `is missing: must be ${expectedValue(schema.properties[field])}`);
}

/** For what no schema can say, like a day that does not exist. */
function unexpected(schema: BodySchema, field: string, value: unknown): AdminError {
  return invalid(field, `is ${quote(value)}: must be ${expectedValue(schema.properties[field])}`);
}

function invalid(field: string, predicate: string): AdminError {
  return new AdminError('invalid_input', `${field} ${predicate}`, { field });
}

function quote(value: unknown): string {
  const text = (JSON.stringify(value) ?? 'undefined').replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, '\u{fffd}');
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
