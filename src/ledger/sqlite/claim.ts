/** Idempotency claims: taken with a hold, ended or freed with it. */
import { bytes, integer, integerOrNull, text } from '../../storage/columns.ts';
import { CLAIM_KEEP_MS } from '../operations.ts';
import type { ConflictReason, StoredReply } from '../port.ts';
import type { KeyCache } from './key-cache.ts';

/** What a request gets whose claim is taken already, but for the state of the rate limit. */
type Repeated =
  | { readonly kind: 'conflict'; readonly reason: ConflictReason }
  | { readonly kind: 'in_flight' }
  | { readonly kind: 'replay'; readonly reply: StoredReply };

/** Null when the claim is free. */
export function findRepeated(
  keys: KeyCache,
  keyId: string,
  claim: { readonly name: string; readonly fingerprint: string },
): Repeated | null {
  const row = keys.sql.claim.get(keyId, claim.name);
  if (row === undefined) return null;
  const endedAtMs = integerOrNull(row, 'ended_at_ms');
  if (endedAtMs !== null && endedAtMs + CLAIM_KEEP_MS <= keys.nowMs) {
    keys.sql.deleteClaim.run(keyId, claim.name);
    return null;
  }
  if (text(row, 'fingerprint') !== claim.fingerprint) return { kind: 'conflict', reason: 'other_request' };
  const state = text(row, 'state');
  if (state === 'running') return { kind: 'in_flight' };
  if (state !== 'done') return { kind: 'conflict', reason: state as Exclude<ConflictReason, 'other_request'> };
  const reply: StoredReply = {
    status: integer(row, 'reply_status'),
    contentType: text(row, 'reply_type'),
    body: bytes(row, 'reply_body'),
  };
  return { kind: 'replay', reply };
}

/** The call was charged: a repeat gets its reply, or why there is none. */
export function endClaim(
  keys: KeyCache,
  keyId: string,
  name: string,
  reply: StoredReply | null,
  noReplyReason: Exclude<ConflictReason, 'other_request'>,
): void {
  const { sql, nowMs } = keys;
  if (reply === null) sql.endClaim.run(noReplyReason, nowMs, null, null, null, keyId, name);
  else sql.endClaim.run('done', nowMs, reply.status, reply.contentType, reply.body, keyId, name);
}
