/**
 * Model known → scope and entitlement → what the model supports → output limit → context window. Everything here
 * is decided from the request and the catalog alone, so nothing that is only wrong locally ever holds money.
 */
import { GatewayError } from '../core/conditions.ts';
import type { Endpoint } from '../core/endpoints.ts';
import type { KeyRecord } from '../core/key.ts';
import type { Model, Target } from '../core/model.ts';
import type { Policy } from '../core/policy.ts';
import type { Catalog, Provider } from '../core/provider.ts';
import type { TextCount } from '../counting/exact-count.ts';
import { InputCount } from '../counting/input-estimate.ts';
import { candidatesFor, only } from '../routing/route.ts';
import type { RequestFacts } from '../wire/format.ts';
import { ELASTIC_SLICE_TOKENS } from './elastic-hold.ts';
import { Lanes } from './lanes.ts';
import type { Plan } from './plan.ts';
import type { GenerationEndpoint } from './request.ts';
import type { ValidRequest } from './valid-request.ts';

/** A message request without `max_tokens`. */
const MESSAGES_DEFAULT_OUTPUT = 1_024;
/** Where neither the client nor the catalog names a limit. */
const UNPUBLISHED_OUTPUT = 32_768;
/** A limit that nobody asked for shrinks to what the balance affords, but not under this. */
const SHRUNK_OUTPUT_MIN = 256;

export function findModel(catalog: Catalog, key: KeyRecord, modelId: string): Model {
  const model = catalog.models.get(modelId);
  if (!model) {
    throw new GatewayError('model_not_found', {
      message: `The model ${JSON.stringify(modelId.slice(0, 200))} is not in the catalog. List the models with GET /v1/models.`,
      param: 'model',
    });
  }
  if (!mayUse(key, model)) {
    throw new GatewayError('key_disabled', {
      message: `This API key may not use the model ${JSON.stringify(model.id)}: it is limited to ${limitOf(key)}.`,
      param: 'model',
    });
  }
  return model;
}

export function mayUse(key: KeyRecord, model: Model): boolean {
  return (
    (key.providerScope === 'all' || key.providerScope === model.provider) &&
    (key.models === null || key.models.includes(model.id))
  );
}

/** What a request is judged by: each read once per exchange. */
export interface ResolveContext {
  readonly catalog: Catalog;
  readonly policy: Policy;
  readonly key: KeyRecord;
  readonly endpoint: GenerationEndpoint;
}

/** `counted`: the text as a tokenizer counted it, where that was needed; without it no input is too long. */
export function resolve(
  { catalog, policy, key, endpoint }: ResolveContext,
  request: ValidRequest,
  counted: TextCount | null = null,
): Plan {
  const { facts } = request;
  const model = findModel(catalog, key, facts.model);
  const { providerScope } = key;
  const targets =
    providerScope === 'all' ? model.targets : only(model.targets, ({ provider }) => provider === providerScope);
  const usable = only(targets, (target) => {
    const provider = catalog.providers.get(target.provider);
    return provider !== undefined && lacking(model, provider, request) === null;
  });
  const [first] = targets;
  if (first === undefined)
    throw new GatewayError('key_disabled', {
      message: 'No target of this model is within the scope of the key.',
      param: 'model',
    });
  if (usable.length === 0) {
    const provider = catalog.providers.get(first.provider);
    const lack = provider && lacking(model, provider, request);
    throw new GatewayError('invalid_request', {
      message: lack?.message ?? 'No provider serves this model.',
      param: lack?.param ?? 'model',
    });
  }
  const elastic = isElastic(model, policy, key, facts);
  const input = new InputCount(request, model, usable, counted);
  const lanes = new Lanes({
    format: endpoint.format,
    request,
    model,
    writesAnew: elastic,
    likelyInputTokens: () => input.likely,
  });
  const carrying = carriers(candidatesFor(endpoint.format, usable), catalog, lanes);
  const { outputLimit, outputLimitMin } = outputLimits(model, endpoint, facts);
  if (model.contextWindow !== null && input.excess !== null) {
    throw contextExceeded(endpoint, input.excess, model.contextWindow);
  }
  return {
    model,
    targets: carrying,
    lanes,
    input,
    outputLimit,
    outputLimitMin,
    elastic,
    firstOutputTokens: elastic ? ELASTIC_SLICE_TOKENS : Number.MAX_SAFE_INTEGER,
    totalMs: totalMs(catalog, policy, carrying, facts),
  };
}

/** Only a stream whose billed output is all visible can be ended before it outruns what is held. */
function isElastic(model: Model, policy: Policy, key: KeyRecord, facts: RequestFacts): boolean {
  if (!facts.stream || facts.choices > 1 || !model.visibleOutput) return false;
  return policy.holds === 'elastic' || policy.elasticKeys.includes(key.id);
}

/** The targets that the request can be carried to; the refusal of the first one where there is none. */
function carriers(candidates: readonly Target[], catalog: Catalog, lanes: Lanes): readonly Target[] {
  let refusal: unknown = null;
  const carrying = only(candidates, (target) => {
    const provider = catalog.providers.get(target.provider);
    if (!provider) return false;
    try {
      lanes.to(target, provider);
      return true;
    } catch (error) {
      refusal ??= error;
      return false;
    }
  });
  if (carrying.length === 0 && refusal !== null) throw refusal;
  return carrying;
}

/** Streams have the policy's limit; a whole answer has as long as the slowest of its providers may take. */
function totalMs(catalog: Catalog, policy: Policy, targets: readonly Target[], facts: RequestFacts): number {
  if (facts.stream) return policy.streams.totalMs;
  let longestMs = 0;
  for (const { provider } of targets) {
    longestMs = Math.max(longestMs, catalog.providers.get(provider)?.timeouts.totalMs ?? 0);
  }
  return longestMs;
}

export function contextExceeded(endpoint: Endpoint, inputTokens: number, contextWindow: number): GatewayError {
  // Native Format B clients act on exactly this wording.
  const message =
    endpoint.envelope === 'B'
      ? `prompt is too long: ${inputTokens} tokens > ${contextWindow} maximum`
      : `The input has about ${inputTokens} tokens; the context window of this model is ${contextWindow} tokens.`;
  return new GatewayError('context_length_exceeded', {
    message,
    param: endpoint.name === 'responses' ? 'input' : 'messages',
  });
}

interface Lack {
  readonly message: string;
  readonly param: string;
}

/** What the request needs and this model on this provider does not have; null when nothing is missing. */
function lacking(model: Model, provider: Provider, { facts }: ValidRequest): Lack | null {
  const { needs } = facts;
  if (needs.tools !== undefined && !model.capabilities.tools)
    return { message: `The model ${model.id} does not take tools.`, param: needs.tools };
  if (needs.images !== undefined && !model.capabilities.images)
    return { message: `The model ${model.id} does not take images.`, param: needs.images };
  if (facts.serviceTier !== null && !['auto', 'default', ...provider.serviceTiers].includes(facts.serviceTier)) {
    return {
      message: `The service tier ${JSON.stringify(facts.serviceTier)} has no configured price here.`,
      param: 'service_tier',
    };
  }
  return null;
}

function outputLimits(
  model: Model,
  endpoint: Endpoint,
  facts: RequestFacts,
): Pick<Plan, 'outputLimit' | 'outputLimitMin'> {
  const published = model.maxOutputTokens ?? model.contextWindow ?? UNPUBLISHED_OUTPUT;
  if (endpoint.envelope === 'B') {
    const outputLimit = Math.min(facts.outputLimit ?? MESSAGES_DEFAULT_OUTPUT, published);
    return {
      outputLimit,
      outputLimitMin: facts.outputLimit === null ? Math.min(SHRUNK_OUTPUT_MIN, outputLimit) : outputLimit,
    };
  }
  if (facts.outputLimit === null)
    return { outputLimit: published, outputLimitMin: Math.min(SHRUNK_OUTPUT_MIN, published) };
  if (facts.outputLimit > published) {
    throw new GatewayError('invalid_request', {
      message: `${facts.outputLimitParam} is ${facts.outputLimit}; the model ${model.id} gives at most ${published} tokens.`,
      param: facts.outputLimitParam,
    });
  }
  return { outputLimit: facts.outputLimit, outputLimitMin: facts.outputLimit };
}

function limitOf(key: KeyRecord): string {
  const scope = key.providerScope === 'all' ? '' : `the provider ${JSON.stringify(key.providerScope)}`;
  const models = key.models === null ? '' : `the models ${key.models.map((id) => JSON.stringify(id)).join(', ')}`;
  return [scope, models].filter((part) => part !== '').join(' and ');
}
