/**
 * Readers of column values, from rows and from the functions' JSON alike: integers arrive as text, because a JavaScript
 * number cannot hold all of them. A value of another type means a broken database, and is said aloud.
 */
import type { KeyRecord, Mode, StoredStatus } from '../../core/key.ts';
import type { Period } from '../../core/period.ts';
import type { Sums } from '../account.ts';
import type { Row } from './connection.ts';

export function text(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== 'string') throw new TypeError(`column ${column} holds no text`);
  return value;
}

function textOrNull(row: Row, column: string): string | null {
  return row[column] === null ? null : text(row, column);
}

export function amount(row: Row, column: string): bigint {
  return BigInt(text(row, column));
}

export function integer(row: Row, column: string): number {
  return Number(amount(row, column));
}

function integerOrNull(row: Row, column: string): number | null {
  return row[column] === null ? null : integer(row, column);
}

export function readSums(row: Row): Sums {
  return {
    key: readKey(row),
    purchased: amount(row, 'purchased'),
    used: amount(row, 'used'),
    reserved: amount(row, 'reserved'),
    liveHolds: integer(row, 'live_holds'),
    periodStartMs: integer(row, 'period_start_ms'),
    periodUsed: amount(row, 'period_used'),
    dayStartMs: integer(row, 'day_start_ms'),
    daySpend: amount(row, 'day_spend'),
    lastCost: amount(row, 'last_cost'),
    inputTokens: amount(row, 'input_tokens'),
    outputTokens: amount(row, 'output_tokens'),
    requests: integer(row, 'requests'),
    holdMs: integer(row, 'hold_ms'),
  };
}

// The schema's CHECK constraints hold the values of mode, status and period to these types.
export function readKey(row: Row): KeyRecord {
  const models = textOrNull(row, 'models');
  return {
    id: text(row, 'key_id'),
    version: integer(row, 'version'),
    mode: text(row, 'mode') as Mode,
    label: textOrNull(row, 'label'),
    status: text(row, 'status') as StoredStatus,
    expiresAtMs: integerOrNull(row, 'expires_at_ms'),
    providerScope: text(row, 'provider_scope'),
    models: models === null ? null : (JSON.parse(models) as string[]),
    rpmLimit: integerOrNull(row, 'rpm_limit'),
    budget: row.budget === null ? null : amount(row, 'budget'),
    period: text(row, 'period') as Period,
    createdAtMs: integer(row, 'created_at_ms'),
    prefix: text(row, 'prefix'),
  };
}
