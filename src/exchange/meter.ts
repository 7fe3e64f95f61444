/** What the lane saw → usage and charge, clamped to the hold. */

import type { Mode } from '../core/key.ts';
import { costNanos } from '../core/money.ts';
import { NO_TOKENS, type TokenCounts, totalTokens, type Usage } from '../core/usage.ts';
import { likelyOutput } from '../counting/output-count.ts';
import type { Meter } from '../wire/lane.ts';
import type { Plan } from './plan.ts';

export interface Charge {
  readonly usage: Usage;
  /** In the key's unit, whatever is held. */
  readonly owed: bigint;
  /** What is taken of it: never more than the hold. */
  readonly amount: bigint;
  readonly costNanos: bigint;
  readonly providerCostNanos: bigint;
  /** What the operator should look at. */
  readonly flag: string | null;
}

/**
 * `complete` says whether the provider came to the end of its answer, so that a missing report is its omission.
 * `outputTokens`: as `usageOf` has it.
 */
export function chargeFor(
  mode: Mode,
  plan: Plan,
  held: bigint,
  meter: Meter | null,
  outputTokens: number | null,
  complete: boolean,
): Charge {
  const usage = usageOf(plan, meter, outputTokens);
  const cost = costNanos(plan.model.pricing, usage.tokens);
  const owed = mode === 'credit' ? cost : BigInt(totalTokens(usage.tokens));
  return {
    usage,
    owed,
    amount: owed > held ? held : owed,
    costNanos: cost,
    providerCostNanos: costNanos(plan.model.providerPricing, usage.tokens),
    flag: flagOf(usage, owed, held, complete),
  };
}

/**
 * As reported where the report is final; otherwise the reported input, or its likely count, and the output as it was
 * counted (`outputTokens`), or else by its length.
 */
export function usageOf(plan: Plan, meter: Meter | null, outputTokens: number | null): Usage {
  if (meter?.reported && meter.reportedFinal) return { tokens: meter.reported, source: 'reported' };
  const counted = meter ? (outputTokens ?? likelyOutput(meter.outputBytes)) : 0;
  const input: TokenCounts = meter?.reported ?? { ...NO_TOKENS, input: plan.input.likely };
  return { tokens: { ...input, output: Math.max(counted, input.output) }, source: 'counted' };
}

function flagOf(usage: Usage, owed: bigint, held: bigint, complete: boolean): string | null {
  if (owed > held) return `the provider reported ${owed}, more than the ${held} held; the hold was charged`;
  if (usage.source === 'counted' && complete) return 'the provider reported no usable usage; counted here';
  return null;
}
