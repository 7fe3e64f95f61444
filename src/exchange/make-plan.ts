/**
 * Model known → scope and entitlement → what the model supports → output limit → context window. Everything here
 * is decided from the request and the catalog alone, so nothing that is only wrong locally ever holds money.
 */
import { GatewayError } from '../core/conditions.ts';
import { type Endpoint, onlyCounts } from '../core/endpoints.ts';
import type { KeyRecord } from '../core/key.ts';
import type { Capabilities, Model, Target } from '../core/model.ts';
import { MULTIPLIER_FIELDS } from '../core/money.ts';
import type { Policy } from '../core/policy.ts';
import { multiplierOf } from '../core/price-terms.ts';
import type { Catalog } from '../core/provider.ts';
import type { ExactCount } from '../counting/exact-count.ts';
import { InputEstimate } from '../counting/input-estimate.ts';
import { filterTargets } from '../routing/candidates.ts';
import type { OutputSpeeds } from '../routing/output-speeds.ts';
import { type CostFields, NO_COST_FIELDS } from '../wire/cost-fields.ts';
import type { RequestInfo } from '../wire/format.ts';
import { type CompiledPlan, compiledPlan, compilePlan, longestMs, targetsInScope } from './compiled-plan.ts';
import { contextExceeded } from './context-exceeded.ts';
import { ELASTIC_SLICE_TOKENS } from './elastic-hold.ts';
import { growthOf } from './elastic-plan.ts';
import { Lanes } from './lanes.ts';
import type { Plan } from './plan.ts';
import { priceOf, worstTokens } from './price.ts';
import type { FormatEndpoint, ReadRequest, ValidRequest } from './request.ts';
import { largestOutput, mayUse, modelRefused, whoseOutput } from './restrictions.ts';

/** A message request without `max_tokens`. */
const MESSAGES_DEFAULT_OUTPUT = 1_024;
/** The output limit where neither the client nor the catalog names one. */
const UNPUBLISHED_OUTPUT = 32_768;
/** A limit that nobody asked for shrinks to what the balance affords, but not under this. */
const SHRUNK_OUTPUT_MIN = 256;

function findModel(catalog: Catalog, key: KeyRecord, modelId: string, param = 'model'): Model | GatewayError {
  const model = catalog.models.get(modelId);
  if (!model) return unknownModel(modelId, param);
  return mayUse(key, model) ? model : modelRefused(key, model, param);
}

export function unknownModel(modelId: string, param = 'model'): GatewayError {
  return new GatewayError('model_not_found', {
    message: `The model ${JSON.stringify(modelId.slice(0, 200))} is not in the catalog. List the models with GET /v1/models.`,
    param,
  });
}

type PlanPolicy = Pick<Policy, 'holds' | 'elasticKeys' | 'streams' | 'runs'>;

/** A request is judged by these; both are read once per exchange. */
interface PlanContext {
  readonly catalog: Catalog;
  readonly policy: PlanPolicy;
  readonly speeds: Pick<OutputSpeeds, 'bound'>;
}

/**
 * A refusal is returned, not thrown: the request is counted against the rate limit first. `exact` is the text as a tokenizer
 * counted it, where that was needed; without it no input is too long.
 */
export function makePlan(
  { catalog, policy, speeds }: PlanContext,
  key: KeyRecord,
  endpoint: FormatEndpoint,
  request: ReadRequest,
  exact: ExactCount | null,
): Plan | GatewayError {
  if (request instanceof GatewayError) return request;
  const { info } = request;
  const model = findModel(catalog, key, info.model);
  if (model instanceof GatewayError) return model;
  const compiled = compiledFor(catalog, key, model, endpoint, request);
  if (compiled instanceof GatewayError) return compiled;
  const { candidates } = compiled;
  const limits = outputLimits(key, model, endpoint, info);
  // A first slice that carries all of the output never has to grow.
  const mayGrow = !(limits instanceof GatewayError) && limits.outputLimit > ELASTIC_SLICE_TOKENS;
  const growth = growthOf({ policy, speeds }, key, model, compiled, request);
  const elastic = mayGrow && growth.elastic;
  const input = new InputEstimate(request, model, compiled.usable, exact);
  const lanes = new Lanes({
    format: endpoint.format,
    request,
    model,
    mayBeCut: elastic,
    likelyInputTokens: () => input.likely,
    usableModel(id, param) {
      const named = findModel(catalog, key, id, param);
      if (named instanceof GatewayError) throw named;
      return named;
    },
    tokensMax: () => worstTokens(plan),
  });
  // A count is made of what the request holds, whether or not it could be sent.
  const reachable = onlyCounts(endpoint.name) ? candidates : reachableTargets(candidates, catalog, lanes);
  if (reachable instanceof GatewayError) return reachable;
  if (limits instanceof GatewayError) return limits;
  const outputLimit = input.outputRoom(limits.outputLimit);
  if (model.contextWindow !== null && input.overflowTokens !== null) {
    return contextExceeded(endpoint, input.overflowTokens, model.contextWindow);
  }
  const plan: Plan = {
    request,
    model,
    targets: reachable,
    lanes,
    input,
    ...priceOf(request, model, reachable),
    outputLimit,
    outputLimitMin: Math.min(limits.outputLimitMin, outputLimit),
    elastic,
    hides: growth.hides,
    speed: growth.speed,
    firstOutputTokens: elastic ? growth.firstOutputTokens : Number.MAX_SAFE_INTEGER,
    totalMs: request.run ? policy.runs.totalMs : totalMs(catalog, policy, compiled, reachable, info),
  };
  return plan;
}

/** The targets that the request can be sent to; the refusal of the first one where there is none. */
function reachableTargets(
  candidates: readonly Target[],
  catalog: Catalog,
  lanes: Lanes,
): readonly Target[] | GatewayError {
  let refusal: GatewayError | null = null;
  const reachable = filterTargets(candidates, (target) => {
    const provider = catalog.providers.get(target.provider);
    if (!provider) return false;
    const refused = lanes.refusal(target, provider);
    refusal ??= refused;
    return refused === null;
  });
  return reachable.length === 0 && refusal !== null ? refusal : reachable;
}

/** Streams have the policy's limit; a whole answer has as long as the slowest of its providers may take. */
function totalMs(
  catalog: Catalog,
  policy: PlanPolicy,
  compiled: CompiledPlan,
  targets: readonly Target[],
  info: RequestInfo,
): number {
  if (info.stream) return policy.streams.totalMs;
  return targets === compiled.candidates ? compiled.wholeMs : longestMs(catalog, targets);
}

interface MissingCapability {
  readonly message: string;
  readonly param: string;
}

/** What a request needs is compared with the model once, and with its targets only where it asks for what may cost more. */
function compiledFor(
  catalog: Catalog,
  key: KeyRecord,
  model: Model,
  { format }: FormatEndpoint,
  request: ValidRequest,
): CompiledPlan | GatewayError {
  const { costFields, info } = request;
  const compiled = compiledPlan(catalog, model, key.providerScope, format);
  const { usable } = compiled;
  if (usable.length === 0 || lackedCapability(model, info) !== null) return unusable(catalog, key, model, request);
  if (costFields === NO_COST_FIELDS) return compiled;
  const priced = filterTargets(usable, ({ provider }) => unpriced(model, provider, costFields) === null);
  if (priced === usable) return compiled;
  return priced.length === 0 ? unusable(catalog, key, model, request) : compilePlan(catalog, model, format, priced);
}

/** Why no target of the model serves the request: what the first of them lacks. */
function unusable(catalog: Catalog, key: KeyRecord, model: Model, { costFields, info }: ValidRequest): GatewayError {
  const [first] = targetsInScope(model, key.providerScope);
  if (first === undefined)
    return new GatewayError('key_disabled', {
      message: 'No target of this model is within the scope of the key.',
      param: 'model',
    });
  const missing = catalog.providers.has(first.provider)
    ? (lackedCapability(model, info) ?? unpriced(model, first.provider, costFields))
    : null;
  return new GatewayError('invalid_request', {
    message: missing?.message ?? 'No provider serves this model.',
    param: missing?.param ?? 'model',
  });
}

/** The capability that the request needs and this model lacks; null when nothing is missing. */
function lackedCapability(model: Model, { needs }: RequestInfo): MissingCapability | null {
  for (const [capability, name] of CAPABILITY_NAMES) {
    const param = needs[capability];
    if (param !== undefined && !model.capabilities[capability])
      return { message: `The model ${model.id} does not support ${name}.`, param };
  }
  return null;
}

const CAPABILITY_NAMES: readonly (readonly [keyof Capabilities, string])[] = [
  ['tools', 'tools'],
  ['images', 'images'],
  ['reasoning', 'reasoning'],
  ['structured_output', 'structured output'],
  ['streaming', 'streaming'],
];

/** The refusal of a field that would cost the operator more than the price of the tokens, and has no price. */
function unpriced({ pricing }: Model, provider: string, { multipliers, betas }: CostFields): MissingCapability | null {
  for (const field of MULTIPLIER_FIELDS) {
    const value = multipliers[field];
    if (value !== undefined && multiplierOf(pricing, provider, field, value) === null)
      return { message: `${field} ${JSON.stringify(value)} has no configured price here.`, param: field };
  }
  const beta = betas.find((value) =>
    value.startsWith('context-1m-')
      ? pricing.tiers.length === 1
      : multiplierOf(pricing, provider, 'speed', 'fast') === null,
  );
  if (beta === undefined) return null;
  return { message: `The beta ${JSON.stringify(beta)} has no configured price here.`, param: 'anthropic-beta' };
}

function outputLimits(
  key: KeyRecord,
  model: Model,
  endpoint: Endpoint,
  info: RequestInfo,
): Pick<Plan, 'outputLimit' | 'outputLimitMin'> | GatewayError {
  const ofModel = model.maxOutputTokens ?? model.contextWindow ?? UNPUBLISHED_OUTPUT;
  const published = largestOutput(key, ofModel);
  const unsaid = model.defaults?.max_output_tokens;
  if (endpoint.envelope === 'B') {
    const outputLimit = Math.min(info.outputLimit ?? unsaid ?? MESSAGES_DEFAULT_OUTPUT, published);
    return {
      outputLimit,
      outputLimitMin: info.outputLimit === null ? Math.min(SHRUNK_OUTPUT_MIN, outputLimit) : outputLimit,
    };
  }
  if (info.outputLimit === null) {
    const outputLimit = Math.min(unsaid ?? published, published);
    return { outputLimit, outputLimitMin: Math.min(SHRUNK_OUTPUT_MIN, outputLimit) };
  }
  if (info.outputLimit > published) {
    return new GatewayError('invalid_request', {
      message: `${info.outputLimitParam} is ${info.outputLimit}; ${whoseOutput(key, model, ofModel)}.`,
      param: info.outputLimitParam,
    });
  }
  return { outputLimit: info.outputLimit, outputLimitMin: info.outputLimit };
}
