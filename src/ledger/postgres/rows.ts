/** Which columns are read, and holds with their marks as rows of the database. */
import type { Mode } from '../../core/key.ts';
import { inputTokens } from '../../core/usage.ts';
import {
  amount,
  amountOrNull,
  flag,
  integer,
  integerOrNull,
  isNull,
  type Row,
  text,
  textOrNull,
} from '../../storage/columns.ts';
import { type Hold, type HoldMark, saturate } from '../engine/key-state.ts';
import type { UsageRecord } from '../port.ts';
import { holdFrom } from '../rules/row-mapping.ts';

const HOLD_ROW: readonly string[] = [
  ...['key_id', 'id', 'owner', 'amount', 'tokens', 'waiting', 'held_at_ms', 'expires_at_ms', 'claim_name'],
  ...['run', 'mark_charge', 'mark_detail'],
];
export const CLAIM_ROW: readonly string[] = [
  ...['key_id', 'name', 'fingerprint', 'state', 'ended_at_ms', 'reply_status', 'reply_type', 'reply_body'],
];

/**
 * As a list in SQL. Columns are named one by one: a prepared statement that answers `*` fails as soon as a later release has added
 * one, while this release still serves.
 */
export function columnsOf(alias: string, columns: readonly string[]): string {
  return columns.map((column) => `${alias}.${column}`).join(', ');
}

/** The path as one text: the driver takes 3 µs to read a list, and the server a sixth longer to write the row. */
export function holdColumns(alias: string): string {
  return `${columnsOf(alias, HOLD_ROW)}, array_to_string(${alias}.path, ',') AS path`;
}

/** The accounts that a hold was admitted on; ids have no commas. */
export function pathOfHold(row: Row): readonly string[] | null {
  return textOrNull(row, 'path')?.split(',') ?? null;
}

export function readHold(row: Row, mode: Mode): Hold {
  const path = pathOfHold(row);
  return holdFrom(row, mode, path === null ? null : JSON.stringify(path), markFrom(row));
}

/** As the columns of usage records; written by `markDetail`. */
function markFrom(row: Row): HoldMark | null {
  const charge = amountOrNull(row, 'mark_charge');
  if (charge === null) return null;
  const detail = row.mark_detail as Row;
  return {
    // Absent in marks of the first releases, as is the duration.
    number: integerOrNull(detail, 'n') ?? 0,
    charge,
    tokens: {
      input: integer(detail, 'input'),
      cacheRead: integer(detail, 'cache_read'),
      cacheWrite: integer(detail, 'cache_write'),
      cacheWrite1h: integer(detail, 'cache_write_1h'),
      output: integer(detail, 'output'),
      reasoning: integer(detail, 'reasoning'),
    },
    call: isNull(detail, 'cost_nanos')
      ? null
      : {
          requestId: text(detail, 'request_id'),
          model: text(detail, 'model'),
          provider: text(detail, 'provider'),
          format: text(detail, 'format'),
          streamed: flag(detail, 'streamed'),
          costNanos: amount(detail, 'cost_nanos'),
          providerCostNanos: amount(detail, 'provider_cost_nanos'),
          attempts: integer(detail, 'attempts'),
          firstByteMs: integerOrNull(detail, 'first_byte_ms'),
        },
    durationMs: integerOrNull(detail, 'duration_ms') ?? 0,
  };
}

/** As `markFrom` and the functions of earlier releases read it: where nothing is known of the call, its cost is null. */
export function markDetail({ id }: Hold, { number, tokens, call, durationMs }: HoldMark): string {
  return JSON.stringify({
    n: number,
    ti: inputTokens(tokens),
    tu: tokens.output,
    request_id: call?.requestId ?? id,
    model: call?.model ?? '',
    provider: call?.provider ?? '',
    format: call?.format ?? '',
    streamed: call?.streamed ?? false,
    outcome: 'broken' satisfies UsageRecord['outcome'],
    source: 'counted' satisfies UsageRecord['source'],
    input: tokens.input,
    cache_read: tokens.cacheRead,
    cache_write: tokens.cacheWrite,
    cache_write_1h: tokens.cacheWrite1h,
    output: tokens.output,
    reasoning: tokens.reasoning,
    cost_nanos: call === null ? null : saturate(call.costNanos).toString(),
    provider_cost_nanos: saturate(call?.providerCostNanos ?? 0n).toString(),
    attempts: call?.attempts ?? 1,
    duration_ms: durationMs,
    first_byte_ms: rounded(call?.firstByteMs ?? null),
  });
}

export function rounded(value: number | null): number | null {
  return value === null ? null : Math.round(value);
}

/** A list of texts as PostgreSQL writes it, of one as `Path.text` has it. */
export function arrayText(path: string | null): string | null {
  return path === null ? null : `{${path.slice(1, -1)}}`;
}
