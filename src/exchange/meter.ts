/** The meter: from what the lane saw to usage and charge, clamped to the hold. */

import type { Mode } from '../core/key.ts';
import { costNanos, decimalCredits, PLAIN_TERMS } from '../core/money.ts';
import { chargeTerms, type ReportedTerms } from '../core/price-terms.ts';
import { inputTokens, NO_TOKENS, type TokenCounts, totalTokens, type Usage } from '../core/usage.ts';
import { likelyOutput } from '../counting/output-count.ts';
import { NO_COST_FIELDS } from '../wire/cost-fields.ts';
import type { Meter } from '../wire/lane.ts';
import type { Plan } from './plan.ts';

/** OpenAI reads no shorter prompt from a cache ("Prompt caching" of its guides). */
const CACHED_TOKENS_MIN = 1_024;

export interface Charge {
  readonly usage: Usage;
  /** The amount owed in the key's unit, whatever is held. */
  readonly owed: bigint;
  /** The charge: never more than the hold. */
  readonly amount: bigint;
  readonly costNanos: bigint;
  readonly providerCostNanos: bigint;
  /** The reason why the operator should look at the charge. */
  readonly flag: string | null;
}

/**
 * `complete` says whether the provider came to the end of its answer, so that a missing report is its omission.
 * `outputTokens`: as `usageOf` has it. `provider`: the name of the one that answered.
 */
export function chargeFor(
  mode: Mode,
  plan: Plan,
  held: bigint,
  meter: Meter | null,
  outputTokens: number | null,
  complete: boolean,
  provider: string,
): Charge {
  const usage = usageOf(plan, meter, outputTokens);
  const { pricing, providerPricing } = plan.model;
  const reported = reportedTerms(plan, meter, usage);
  const asked = {
    fields: plan.request.costFields.multipliers,
    hostedTools: plan.request.info.hostedTools.map(({ type }) => type),
  };
  const terms = reported && chargeTerms(pricing, provider, reported, asked);
  const providerTerms = reported && chargeTerms(providerPricing, provider, reported, asked);
  const cost = costNanos(pricing, usage.tokens, terms ?? PLAIN_TERMS);
  const owed = mode === 'credit' ? cost : BigInt(totalTokens(usage.tokens));
  return {
    usage,
    owed,
    amount: owed > held ? held : owed,
    costNanos: cost,
    providerCostNanos: costNanos(providerPricing, usage.tokens, providerTerms ?? PLAIN_TERMS),
    flag: flagOf(mode, usage, owed, held, {
      complete,
      disbelieved: meter?.disbelieved,
      cacheUnknown: mode === 'credit' && isCacheUnknown(plan, meter, usage),
      unpriced: terms?.unpriced ?? [],
      unusable: reported?.unusable ?? [],
    }),
  };
}

/**
 * As reported where the report is final; otherwise the reported input, or its likely count, and the output as it was
 * counted (`outputTokens`), or else by its length.
 */
export function usageOf(plan: Plan, meter: Meter | null, outputTokens: number | null): Usage {
  if (meter?.reported && meter.reportedFinal) return { tokens: meter.reported, source: 'reported' };
  const counted = meter ? (outputTokens ?? likelyOutput(meter.outputBytes)) : 0;
  const reported = meter?.reported ?? NO_TOKENS;
  const input: TokenCounts = inputTokens(reported) > 0 ? reported : { ...NO_TOKENS, input: plan.input.likely };
  return { tokens: { ...input, output: Math.max(counted, input.output) }, source: 'counted' };
}

/**
 * Whether the input may cost less than it is charged: providers read long prefixes from a cache, and only messages streams
 * report that before their end.
 */
function isCacheUnknown({ model }: Plan, meter: Meter | null, { source, tokens }: Usage): boolean {
  if (source === 'reported' || meter === null || tokens.input < CACHED_TOKENS_MIN) return false;
  if (meter.reported !== null && inputTokens(meter.reported) > 0) return false;
  return model.pricing.tiers.some(({ rates }) => rates.cacheRead < rates.input);
}

/** A field that the provider does not report has the value that was asked for. Null where only tokens count. */
function reportedTerms({ request }: Plan, meter: Meter | null, { source }: Usage): ReportedTerms | null {
  const reported = meter?.terms ?? null;
  const encoded = source === 'counted' ? meter?.encoded : undefined;
  if (reported === null && encoded === undefined && request.costFields === NO_COST_FIELDS) return null;
  const terms = { calls: {}, ...reported, fields: { ...request.costFields.multipliers, ...reported?.fields } };
  if (encoded === undefined) return terms;
  const { inputAudio = 0, inputImage = 0 } = reported?.parts ?? {};
  return { ...terms, parts: { inputAudio, inputImage, outputAudio: encoded.audio, outputImage: encoded.image } };
}

interface Findings {
  readonly complete: boolean;
  readonly disbelieved: string | undefined;
  readonly cacheUnknown: boolean;
  readonly unpriced: readonly string[];
  readonly unusable: readonly string[];
}

function flagOf(mode: Mode, usage: Usage, owed: bigint, held: bigint, findings: Findings): string | null {
  const { complete, disbelieved, cacheUnknown, unpriced, unusable } = findings;
  const flags: string[] = [];
  if (disbelieved !== undefined) {
    flags.push(`the provider reported impossible usage (${disbelieved}); counted here`);
  }
  if (owed > held) {
    const by = usage.source === 'reported' ? 'the provider reported' : 'was counted here';
    flags.push(
      `what ${by} comes to ${inUnit(mode, owed)}, more than the ${inUnit(mode, held)} held; the hold was charged`,
    );
  } else if (usage.source === 'counted' && complete && disbelieved === undefined) {
    flags.push('the provider reported no usable usage; counted here');
  }
  if (cacheUnknown) flags.push('the input is charged at its full price: nobody reported how much of it was cached');
  if (unpriced.length > 0) flags.push(`no price for ${unpriced.join(', ')}: charged without`);
  if (unusable.length > 0) flags.push(`not usable in the provider's report: ${unusable.join(', ')}`);
  return flags.length === 0 ? null : flags.join('; ');
}

function inUnit(mode: Mode, amount: bigint): string {
  return mode === 'credit' ? `${decimalCredits(amount)} credits` : `${amount} tokens`;
}
