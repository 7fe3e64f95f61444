/** Idempotency claims: taken with a hold, ended or freed with it. */
import { CLAIM_KEEP_MS } from '../operations.ts';
import type { ConflictReason, StoredReply } from '../port.ts';
import type { WorkingSet } from './working-set.ts';

/** What a request gets whose claim is taken already, but for the state of the rate limit. */
type Repeated =
  | { readonly kind: 'conflict'; readonly reason: ConflictReason }
  | { readonly kind: 'in_flight' }
  | { readonly kind: 'replay'; readonly reply: StoredReply };

/** Null when the claim is free. */
export function findRepeated(
  keys: WorkingSet,
  keyId: string,
  claim: { readonly name: string; readonly fingerprint: string },
): Repeated | null {
  const found = keys.claimOf(keyId, claim.name);
  if (found === null) return null;
  const { endedAtMs, state, reply } = found;
  if (endedAtMs !== null && endedAtMs + CLAIM_KEEP_MS <= keys.nowMs) {
    keys.deleteClaim(keyId, claim.name);
    return null;
  }
  if (found.fingerprint !== claim.fingerprint) return { kind: 'conflict', reason: 'other_request' };
  if (state === 'running') return { kind: 'in_flight' };
  if (state !== 'done') return { kind: 'conflict', reason: state };
  if (reply === null) throw new Error(`the claim ${claim.name} has no reply`);
  return { kind: 'replay', reply };
}

/** The call was charged: a repeat gets its reply, or why there is none. */
export function endClaim(
  keys: WorkingSet,
  keyId: string,
  name: string,
  reply: StoredReply | null,
  noReplyReason: Exclude<ConflictReason, 'other_request'>,
): void {
  keys.endClaim(keyId, name, reply === null ? noReplyReason : 'done', reply);
}
