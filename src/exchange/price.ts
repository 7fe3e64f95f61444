/** Plan → amount to hold; amount held → output limit. In the key's own unit. */
import type { Mode } from '../core/key.ts';
import type { Model, Target } from '../core/model.ts';
import { affordableOutputTokens, type HoldTerms, PLAIN_TERMS, worstCostNanos } from '../core/money.ts';
import { holdTerms } from '../core/price-terms.ts';
import { arrayAt } from '../lib/json.ts';
import { compactsMidway } from '../wire/compaction.ts';
import type { Plan } from './plan.ts';
import type { ValidRequest } from './request.ts';

interface HoldAmounts {
  readonly amount: bigint;
  readonly amountMin: bigint;
}

/** For a summary of the conversation the model runs once more: over the same input, to the same limit. */
const RUNS_WITH_COMPACTION = 2;

/** What the request itself says of its price, for its plan. */
export function priceOf(request: ValidRequest, model: Model, targets: readonly Target[]): Pick<Plan, 'runs' | 'terms'> {
  return { runs: compactsMidway(request.body) ? RUNS_WITH_COMPACTION : 1, terms: termsOf(request, model, targets) };
}

export function holdAmounts(mode: Mode, plan: Plan): HoldAmounts {
  const answers = answersOf(plan);
  const most = plan.firstOutputTokens;
  const tokens = Math.min(plan.outputLimit * answers, most);
  const tokensMin = Math.min(plan.outputLimitMin * answers, most);
  const amount = holdFor(mode, plan, tokens);
  return { amount, amountMin: tokensMin === tokens ? amount : holdFor(mode, plan, tokensMin) };
}

/** The tokens that `holdAmounts` stand for, which the accounts above a key count whatever it pays with. */
export function holdTokens(plan: Plan): { readonly tokens: bigint; readonly tokensMin: bigint } {
  const { amount, amountMin } = holdAmounts('token_budget', plan);
  return { tokens: amount, tokensMin: amountMin };
}

/** Whether `available` could carry the request if its input were counted instead of bounded by its bytes. */
export function couldAffordWithExactCount(mode: Mode, plan: Plan, available: bigint): boolean {
  const outputTokens = Math.min(plan.outputLimitMin * answersOf(plan), plan.firstOutputTokens);
  // Half of the guess is less than any count that the guess can turn out to be.
  return worst(mode, plan, Math.floor(plan.input.likely / 2) * plan.runs, outputTokens) <= available;
}

/** The effective output limit of one choice that this hold carries. */
export function outputLimitWithin(mode: Mode, plan: Plan, held: bigint): number {
  const inputTokens = plan.input.high * plan.runs;
  const tokens =
    mode === 'credit'
      ? affordableOutputTokens(plan.model.pricing, inputTokens, held, plan.terms)
      : Number(held - BigInt(inputTokens));
  return Math.min(plan.outputLimit, Math.floor(tokens / answersOf(plan)));
}

/** The amount that carries the input and this much output, whatever class and tier they fall in. */
export function holdFor(mode: Mode, plan: Plan, outputTokens: number): bigint {
  return worst(mode, plan, plan.input.high * plan.runs, outputTokens);
}

/** The most tokens that the request can take; only hosted tools that run add to it. */
export function worstTokens(plan: Plan): number {
  return plan.input.high * plan.runs + plan.outputLimit * answersOf(plan);
}

/** How often the output limit may be used up. */
function answersOf(plan: Plan): number {
  return plan.request.info.choices * plan.runs;
}

function worst(mode: Mode, plan: Plan, inputTokens: number, outputTokens: number): bigint {
  return mode === 'credit'
    ? worstCostNanos(plan.model.pricing, inputTokens, outputTokens, plan.terms)
    : BigInt(inputTokens) + BigInt(outputTokens);
}

/** The dearest that tier, hosted tools, sound and images can make the request at any of its targets. */
function termsOf(request: ValidRequest, model: Model, targets: readonly Target[]): HoldTerms {
  const { hostedTools, needs } = request.info;
  const { multipliers } = request.costFields;
  const modalities = arrayAt(request.body, 'modalities') ?? [];
  // A file may be sound, or pages that are looked at.
  const audio = needs.files !== undefined || modalities.includes('audio');
  const images = needs.files !== undefined || needs.images !== undefined || modalities.includes('image');
  if (hostedTools.length === 0 && Object.keys(multipliers).length === 0 && !audio && !images) return PLAIN_TERMS;
  return holdTerms(
    model.pricing,
    targets.map(({ provider }) => provider),
    {
      fields: multipliers,
      hostedTools: hostedTools.map(({ type }) => type),
      audio,
      images,
    },
  );
}
