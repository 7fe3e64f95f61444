/** Holds, claims and promotions as rows of the database. */
import type { Mode } from '../../core/key.ts';
import { inputTokens } from '../../core/usage.ts';
import {
  amount,
  amountOrNull,
  bytes,
  flag,
  integer,
  integerOrNull,
  isNull,
  type Row,
  text,
  textOrNull,
} from '../../storage/columns.ts';
import { type Hold, type HoldMark, saturate } from '../engine/key-state.ts';
import type { Claim, ClaimState } from '../engine/working-set.ts';
import type { UsageRecord } from '../port.ts';
import { byExpiry, type Promotion } from '../rules/promotions.ts';

export function holdFrom(row: Row, mode: Mode): Hold {
  return {
    keyId: text(row, 'key_id'),
    mode,
    id: text(row, 'id'),
    owner: text(row, 'owner'),
    amount: amount(row, 'amount'),
    tokens: amount(row, 'tokens'),
    path: isNull(row, 'path') ? null : JSON.stringify(row.path),
    waiting: flag(row, 'waiting'),
    heldAtMs: integer(row, 'held_at_ms'),
    steadyAtMs: integer(row, 'held_at_ms'),
    expiresAtMs: integer(row, 'expires_at_ms'),
    claimName: textOrNull(row, 'claim_name'),
    mark: markFrom(row),
    persisted: true,
  };
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

export function claimFrom(row: Row): Claim {
  const state = text(row, 'state') as ClaimState;
  const reply =
    state === 'done'
      ? { status: integer(row, 'reply_status'), contentType: text(row, 'reply_type'), body: bytes(row, 'reply_body') }
      : null;
  return { fingerprint: text(row, 'fingerprint'), state, endedAtMs: integerOrNull(row, 'ended_at_ms'), reply };
}

/** In the order in which they expire; null where there is none. */
export function promotionsFrom(rows: readonly Row[]): readonly Promotion[] | null {
  if (rows.length === 0) return null;
  const promotions = rows.map((row) => ({
    id: text(row, 'id'),
    expiresAtMs: integer(row, 'expires_at_ms'),
    remaining: amount(row, 'remaining'),
  }));
  return promotions.sort(byExpiry);
}

/** A list of texts as PostgreSQL writes it, of one as `Path.text` has it. */
export function arrayText(path: string | null): string | null {
  return path === null ? null : `{${path.slice(1, -1)}}`;
}
