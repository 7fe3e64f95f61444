/** The end of a hold whose owner is dead, or which is past its expiry: what was marked is charged, what was not is voided. */
import { totalTokens } from '../../core/usage.ts';
import type { UsageRecord } from '../port.ts';
import { charge, voidHold } from './hold.ts';
import type { Hold, HoldMark, KeyState } from './key-state.ts';
import type { WorkingSet } from './working-set.ts';

/** Whether it was charged. */
export function recoverHold(keys: WorkingSet, state: KeyState, hold: Hold): boolean {
  const { mark } = hold;
  if (mark === null) {
    voidHold(keys, state, hold);
    return false;
  }
  const usage = recoveredUsage(hold, mark);
  charge(keys, state, hold, {
    keyId: hold.keyId,
    holdId: hold.id,
    charge: mark.charge,
    chargeTokens: BigInt(totalTokens(usage.tokens)),
    usage,
    reply: null,
    noReplyReason: 'charged_incomplete',
    flag: 'recovered',
  });
  return true;
}

function recoveredUsage(hold: Hold, { charge, tokens, call, durationMs }: HoldMark): UsageRecord {
  return {
    requestId: call?.requestId ?? hold.id,
    model: call?.model ?? '',
    provider: call?.provider ?? '',
    format: call?.format ?? '',
    streamed: call?.streamed ?? false,
    outcome: 'broken',
    source: 'counted',
    tokens,
    costNanos: call ? call.costNanos : hold.mode === 'credit' ? charge : 0n,
    providerCostNanos: call?.providerCostNanos ?? 0n,
    attempts: call?.attempts ?? 1,
    firstByteMs: call?.firstByteMs ?? null,
    // Until it was known to run, not until it was found; its arrival, from which the first byte counts, was before the hold.
    durationMs: Math.max(durationMs, call?.firstByteMs ?? 0),
  };
}
