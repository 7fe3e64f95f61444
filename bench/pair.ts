/** What one request asks of the ledger: an admission with a hold, and a settlement with a usage record. */
import { newRequestId } from '../src/http/request-id.ts';
import type { Ledger, UsageRecord } from '../src/ledger/port.ts';

const HOLD_NANOS = 10_000_000n;
const CHARGE_NANOS = 700_000n;
const HOLD_TOKENS = 4_296n;
const CHARGE_TOKENS = 450n;
const HOLD_TTL_MS = 600_000;

const USAGE: Omit<UsageRecord, 'requestId'> = {
  model: 'bench',
  provider: 'bench',
  format: 'chat',
  streamed: false,
  outcome: 'complete',
  source: 'reported',
  tokens: { input: 200, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, output: 250, reasoning: 0 },
  costNanos: CHARGE_NANOS,
  providerCostNanos: CHARGE_NANOS,
  attempts: 1,
  firstByteMs: 1,
  durationMs: 1,
};

export async function pair(
  ledger: Pick<Ledger, 'admit' | 'settle'>,
  key: { readonly id: string; readonly version: number },
): Promise<void> {
  const id = newRequestId();
  const admitted = await ledger.admit({
    keyId: key.id,
    keyVersion: key.version,
    newHold: true,
    claim: null,
    hold: {
      id,
      amount: HOLD_NANOS,
      amountMin: HOLD_NANOS,
      tokens: HOLD_TOKENS,
      tokensMin: HOLD_TOKENS,
      ttlMs: HOLD_TTL_MS,
    },
  });
  if (admitted.kind !== 'admitted') throw new Error(`not admitted: ${admitted.kind}`);
  const settled = await ledger.settle({
    holdId: id,
    keyId: key.id,
    charge: CHARGE_NANOS,
    chargeTokens: CHARGE_TOKENS,
    usage: { ...USAGE, requestId: id },
    reply: null,
    noReplyReason: 'charged_incomplete',
    flag: null,
  });
  if (settled.kind !== 'settled') throw new Error(`not settled: ${settled.kind}`);
}
