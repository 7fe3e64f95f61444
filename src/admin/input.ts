/** Reads what an operator typed or sent. Every refusal names the field, what came, and what is allowed. */
import type { Mode, StoredStatus } from '../core/key.ts';
import { AMOUNT_MAX, creditsFromNanos, parseCredits } from '../core/money.ts';
import { PERIODS, type Period } from '../core/period.ts';
import type { KeyChange } from '../ledger/port.ts';
import { AdminError } from './api.ts';

/** A validated new key: everything but its id and its secret. */
export interface NewKeyPlan {
  readonly mode: Mode;
  readonly label: string | null;
  readonly providerScope: string;
  readonly models: readonly string[] | null;
  readonly rpmLimit: number | null;
  readonly expiresAtMs: number | null;
  readonly budget: bigint | null;
  readonly period: Period;
  readonly credit: bigint;
}

export interface CreditPlan {
  readonly amountNanos: bigint;
  readonly note: string | null;
  readonly entryId: string | null;
}

type Fields = Readonly<Record<string, unknown>>;

const MODES: readonly Mode[] = ['credit', 'token_budget'];
const STATUSES: readonly StoredStatus[] = ['active', 'suspended', 'disabled', 'revoked'];
const RPM_MAX = 1_000_000;
const TEXT_MAX = 200;
const MODELS_MAX = 1000;
const CHANGE_FIELDS = ['label', 'provider_scope', 'models', 'rpm_limit', 'expires_at', 'budget', 'period'] as const;

export function readNewKey(input: unknown): NewKeyPlan {
  const fields = readFields(input, ['mode', 'credit', ...CHANGE_FIELDS]);
  const mode = oneOf('mode', fields.mode, MODES);
  if (mode === 'credit' && fields.budget !== undefined) {
    throw invalid('budget', 'belongs to token_budget keys; a credit key takes credit instead');
  }
  if (mode === 'credit' && fields.period !== undefined) {
    throw invalid('period', 'belongs to token_budget keys; a credit key has no period');
  }
  if (mode === 'token_budget' && fields.credit !== undefined) {
    throw invalid('credit', 'belongs to credit keys; a token_budget key takes budget instead');
  }
  if (mode === 'token_budget' && fields.budget === undefined) {
    throw invalid('budget', 'is missing: a token_budget key takes a number of tokens, or "unlimited"');
  }
  return {
    mode,
    label: fields.label === undefined ? null : readLabel(fields.label),
    providerScope: fields.provider_scope === undefined ? 'all' : readScope(fields.provider_scope),
    models: fields.models === undefined ? null : readModels(fields.models),
    rpmLimit: fields.rpm_limit === undefined ? null : readRpm(fields.rpm_limit),
    expiresAtMs: fields.expires_at === undefined ? null : readExpiry(fields.expires_at),
    budget: fields.budget === undefined ? null : readBudget(fields.budget),
    period: fields.period === undefined ? 'month' : oneOf('period', fields.period, PERIODS),
    credit: fields.credit === undefined ? 0n : readAmount('credit', fields.credit),
  };
}

export function readKeyChange(input: unknown): KeyChange {
  const fields = readFields(input, ['status', ...CHANGE_FIELDS]);
  if (fields.status === 'expired') {
    throw invalid('status', 'expired follows from expires_at and cannot be set; move expires_at instead');
  }
  const change: KeyChange = {
    ...(fields.status !== undefined && { status: oneOf('status', fields.status, STATUSES) }),
    ...(fields.label !== undefined && { label: readLabel(fields.label) }),
    ...(fields.provider_scope !== undefined && { providerScope: readScope(fields.provider_scope) }),
    ...(fields.models !== undefined && { models: readModels(fields.models) }),
    ...(fields.rpm_limit !== undefined && { rpmLimit: readRpm(fields.rpm_limit) }),
    ...(fields.expires_at !== undefined && { expiresAtMs: readExpiry(fields.expires_at) }),
    ...(fields.budget !== undefined && { budget: readBudget(fields.budget) }),
    ...(fields.period !== undefined && { period: oneOf('period', fields.period, PERIODS) }),
  };
  if (Object.keys(change).length === 0) {
    throw new AdminError('invalid_input', `nothing to change: give one of status, ${CHANGE_FIELDS.join(', ')}`);
  }
  return change;
}

export function readCredit(input: unknown): CreditPlan {
  const fields = readFields(input, ['amount', 'note', 'entry_id']);
  const amountNanos = readAmount('amount', fields.amount);
  if (amountNanos === 0n) throw invalid('amount', 'must be more than 0 credits');
  return {
    amountNanos,
    note: fields.note === undefined || fields.note === null ? null : readText('note', fields.note),
    entryId: fields.entry_id === undefined ? null : readText('entry_id', fields.entry_id),
  };
}

function readFields(input: unknown, allowed: readonly string[]): Fields {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw new AdminError('invalid_input', `the body must be a JSON object with ${allowed.join(', ')}`);
  }
  for (const name of Object.keys(input)) {
    if (!allowed.includes(name)) {
      throw new AdminError('invalid_input', `unknown field ${quote(name)}: allowed are ${allowed.join(', ')}`);
    }
  }
  return Object.assign(Object.create(null), input) as Fields;
}

function oneOf<T extends string>(field: string, value: unknown, allowed: readonly T[]): T {
  const found = allowed.find((one) => one === value);
  if (found === undefined) {
    const what = value === undefined ? 'is missing' : `is ${quote(value)}`;
    throw invalid(field, `${what}: allowed are ${allowed.join(', ')}`);
  }
  return found;
}

function readAmount(field: string, value: unknown): bigint {
  const allowed = `a decimal number of credits from 0 to ${Math.floor(creditsFromNanos(AMOUNT_MAX))}, at most 9 decimals`;
  if (typeof value !== 'string' && typeof value !== 'number') throw invalid(field, `must be ${allowed}`);
  try {
    const nanos = parseCredits(String(value));
    if (nanos <= AMOUNT_MAX) return nanos;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  throw invalid(field, `is ${quote(value)}: it must be ${allowed}`);
}

function readBudget(value: unknown): bigint | null {
  if (value === null || value === 'unlimited') return null;
  const tokens = wholeNumber(value);
  if (tokens === null || tokens < 0) {
    throw invalid('budget', `is ${quote(value)}: it must be a whole number of tokens from 0 up, or "unlimited"`);
  }
  return BigInt(tokens);
}

function readRpm(value: unknown): number | null {
  if (value === null || value === 'none') return null;
  const limit = wholeNumber(value);
  if (limit === null || limit < 1 || limit > RPM_MAX) {
    throw invalid('rpm_limit', `is ${quote(value)}: it must be a whole number from 1 to ${RPM_MAX}, or "none"`);
  }
  return limit;
}

/** A safe integer, or a string of digits that is one; null for everything else. */
function wholeNumber(value: unknown): number | null {
  const number = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : null;
}

function readLabel(value: unknown): string | null {
  return value === null || value === '' ? null : readText('label', value);
}

/** Text that goes to terminals and logs: no control characters. */
function readText(field: string, value: unknown): string {
  if (typeof value !== 'string' || value === '' || value.length > TEXT_MAX || /\p{Cc}|\p{Zl}|\p{Zp}/u.test(value)) {
    throw invalid(field, `must be one line of 1 to ${TEXT_MAX} characters`);
  }
  return value.toWellFormed();
}

function readScope(value: unknown): string {
  const name = readText('provider_scope', value);
  if (/\s/.test(name)) throw invalid('provider_scope', `is ${quote(name)}: it must be one provider's name, or "all"`);
  return name;
}

function readModels(value: unknown): readonly string[] | null {
  if (value === null || value === 'all') return null;
  const allowed = `must be a list of 1 to ${MODELS_MAX} model ids, or "all"`;
  if (!Array.isArray(value) || value.length === 0 || value.length > MODELS_MAX) throw invalid('models', allowed);
  const ids = value.map((id: unknown) => {
    if (typeof id !== 'string' || id.trim() === '') throw invalid('models', `${allowed}; one of them is empty`);
    return readText('models', id.trim());
  });
  return [...new Set(ids)];
}

const ISO_TIME = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}:\d{2})?)?$/;

function readExpiry(value: unknown): number | null {
  if (value === null || value === 'never') return null;
  const match = typeof value === 'string' ? ISO_TIME.exec(value) : null;
  if (match) {
    const [, date = '', time = '00:00', zone = 'Z'] = match;
    const dayMs = Date.parse(`${date}T00:00Z`);
    const atMs = Date.parse(`${date}T${time}${zone}`);
    // Date.parse rolls February 30 over into March; the operator meant something else.
    const exists = !Number.isNaN(dayMs) && new Date(dayMs).toISOString().startsWith(date);
    if (exists && !Number.isNaN(atMs)) return atMs;
  }
  throw invalid(
    'expires_at',
    `is ${quote(value)}: it must be a time like 2030-01-31T12:00:00Z or a date like 2030-01-31 (UTC), or "never"`,
  );
}

function invalid(field: string, rest: string): AdminError {
  return new AdminError('invalid_input', `${field} ${rest}`, { field });
}

function quote(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
