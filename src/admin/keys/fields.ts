/**
 * What can be set of a key, when it is created and later: as the API takes it, as the ledger does, and as the API shows it. A
 * new field is added here, once in each list.
 */

import { type KeyRecord, RUNS_LIMIT } from '../../core/key.ts';
import { AMOUNT_MAX, parseCredits } from '../../core/money.ts';
import type { KeyChange } from '../../ledger/port.ts';
import { Type } from '../../lib/schema-builder.ts';
import { readTime } from '../http/time.ts';
import { type ObjectSchema, unexpected } from '../http/validate.ts';
import type { View } from '../http/view.ts';
import { Digits, limitFields, limitSettings, limitsView, OneLine, readLimits } from './limits.ts';

const TEXT_MAX = 200;
const CAPTURE_DAYS_MAX = 365;

export const keySettings = {
  label: Type.Optional(Type.Union([OneLine, Type.Literal(''), Type.Null()])),
  provider_scope: Type.Optional(
    Type.String({
      pattern: `^[^\\p{Cc}\\p{Zl}\\p{Zp}\\s]{1,${TEXT_MAX}}$`,
      expected: 'the name of one provider, or "all"',
    }),
  ),
  ...limitSettings,
  expires_at: Type.Optional(
    Type.Union([Type.String(), Type.Null()], {
      expected: 'a time like 2030-01-31T12:00:00Z or a date like 2030-01-31 (UTC), or "never"',
      description: 'ISO 8601; UTC where no zone is given.',
    }),
  ),
  budget: Type.Optional(
    Type.Union([Type.Integer({ minimum: 0 }), Digits, Type.Literal('unlimited'), Type.Null()], {
      expected: 'a whole number of tokens from 0 up, or "unlimited"',
      description: 'Tokens per period, for token_budget keys.',
    }),
  ),
  period: Type.Optional(Type.Enum(['day', 'week', 'month', 'none'])),
  capture_days: Type.Optional(
    Type.Union([Type.Integer({ minimum: 1, maximum: CAPTURE_DAYS_MAX }), Digits, Type.Literal('off'), Type.Null()], {
      expected: `a whole number of days from 1 to ${CAPTURE_DAYS_MAX}, or "off"`,
      description: 'For how long the content of its requests and responses is kept. "off" and null: it is not.',
    }),
  ),
  cap: Type.Optional(
    Type.Union([Type.String(), Type.Number(), Type.Null()], {
      expected: 'a decimal number of credits from 0 up, or "none"',
      description: 'The most that a credit key of an account may spend in its period.',
    }),
  ),
};

const SETTINGS = Type.Object(keySettings);
type KeySettings = View<typeof SETTINGS>;

/** What a key has that nothing is said of. */
export const KEY_DEFAULTS: Required<Omit<KeyChange, 'status'>> = {
  label: null,
  providerScope: 'all',
  rpmLimit: null,
  tpmLimit: null,
  parallelLimit: null,
  runsLimit: RUNS_LIMIT,
  outputLimit: null,
  models: null,
  addresses: null,
  expiresAtMs: null,
  budget: null,
  period: 'month',
  cap: null,
  captureDays: null,
};

/** The fields that every key shows of them; budget, period and cap depend on its mode (view.ts). */
export const keyFieldsShown = {
  provider_scope: Type.String(),
  ...limitFields,
  expires_at: Type.Union([Type.String(), Type.Null()]),
  capture_days: Type.Union([Type.Integer(), Type.Null()]),
};
const SHOWN = Type.Object(keyFieldsShown);

export function keyFieldsView(key: KeyRecord): View<typeof SHOWN> {
  return {
    provider_scope: key.providerScope,
    ...limitsView(key),
    expires_at: key.expiresAtMs === null ? null : new Date(key.expiresAtMs).toISOString(),
    capture_days: key.captureDays,
  };
}

/** Those that are given. */
export function readKeySettings(body: KeySettings): Omit<KeyChange, 'status'> {
  const { label, provider_scope, expires_at, budget, period, cap, capture_days } = body;
  return {
    ...(label !== undefined && { label: label?.toWellFormed() || null }),
    ...(provider_scope !== undefined && { providerScope: provider_scope.toWellFormed() }),
    ...readLimits(body),
    ...(expires_at !== undefined && { expiresAtMs: readExpiry(expires_at) }),
    ...(budget !== undefined && { budget: readBudget(budget) }),
    ...(period !== undefined && { period }),
    ...(capture_days !== undefined && { captureDays: readCaptureDays(capture_days) }),
    ...(cap !== undefined && { cap: cap === null || cap === 'none' ? null : readAmount(SETTINGS, 'cap', cap) }),
  };
}

function readCaptureDays(value: NonNullable<KeySettings['capture_days']> | null): number | null {
  if (value === null || value === 'off') return null;
  const days = Number(value);
  if (days < 1 || days > CAPTURE_DAYS_MAX) throw unexpected(SETTINGS, 'capture_days', value);
  return days;
}

function readBudget(value: NonNullable<KeySettings['budget']> | null): bigint | null {
  if (value === null || value === 'unlimited') return null;
  const tokens = Number(value);
  if (!Number.isSafeInteger(tokens)) throw unexpected(SETTINGS, 'budget', value);
  return BigInt(tokens);
}

function readExpiry(value: string | null): number | null {
  if (value === null || value === 'never') return null;
  const atMs = readTime(value);
  if (atMs === null) throw unexpected(SETTINGS, 'expires_at', value);
  return atMs;
}

export function readAmount(schema: ObjectSchema, field: string, value: string | number): bigint {
  try {
    const nanos = parseCredits(String(value));
    if (nanos <= AMOUNT_MAX) return nanos;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  throw unexpected(schema, field, value);
}
