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
import type { HostedTool, RequestFacts } from '../wire/format.ts';
import { arrayAt } from '../wire/json.ts';
import { countInput, type InputCount } from './counter.ts';
import type { ValidRequest } from './read.ts';
import { candidatesFor } from './route.ts';

/** A message request without `max_tokens`. */
const MESSAGES_DEFAULT_OUTPUT = 1_024;
/** Where neither the client nor the catalog names a limit. */
const UNPUBLISHED_OUTPUT = 32_768;
/** A limit that nobody asked for shrinks to what the balance affords, but not under this. */
const SHRUNK_OUTPUT_MIN = 256;

export interface Plan {
  readonly model: Model;
  /** The candidates, in the order of the catalog: within the key's scope, one for each upstream model of a provider. */
  readonly targets: readonly Target[];
  readonly input: InputCount;
  /** Effective limit of one choice, if the balance carries it. */
  readonly outputLimit: number;
  /** The least that a hold must carry. */
  readonly outputLimitMin: number;
  /** How long the exchange may take, from acceptance. */
  readonly totalMs: number;
}

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
  readonly endpoint: Endpoint;
}

export function resolve({ catalog, policy, key, endpoint }: ResolveContext, request: ValidRequest): Plan {
  const { facts } = request;
  const model = findModel(catalog, key, facts.model);
  const targets = model.targets.filter(({ provider }) => key.providerScope === 'all' || provider === key.providerScope);
  const usable = targets.filter((target) => {
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
  const candidates = endpoint.format === null ? [] : candidatesFor(endpoint.format, usable);
  // A count needs no target: the local counter knows every model.
  if (candidates.length === 0 && endpoint.name !== 'count_tokens') throw otherFormat(model, endpoint);
  const output = outputLimits(model, endpoint, facts);
  const input = countInput(request.bytes.length, facts, model.contextWindow);
  if (model.contextWindow !== null && input.low > model.contextWindow) {
    throw contextExceeded(endpoint, input.likely, model.contextWindow);
  }
  return { model, targets: candidates, input, ...output, totalMs: totalMs(catalog, policy, candidates, facts) };
}

/** Streams have the policy's limit; a whole answer has as long as the slowest of its providers may take. */
function totalMs(catalog: Catalog, policy: Policy, targets: readonly Target[], facts: RequestFacts): number {
  if (facts.stream) return policy.streams.totalMs;
  return Math.max(0, ...targets.map(({ provider }) => catalog.providers.get(provider)?.timeouts.totalMs ?? 0));
}

function otherFormat(model: Model, endpoint: Endpoint): GatewayError {
  const spoken = [...new Set(model.targets.map(({ format }) => format))].join(' and ');
  return new GatewayError('invalid_request', {
    message: `The model ${JSON.stringify(model.id)} speaks ${spoken}; it is not served on ${endpoint.path}.`,
    param: 'model',
  });
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
function lacking(model: Model, provider: Provider, { facts, body }: ValidRequest): Lack | null {
  const { needs } = facts;
  if (needs.tools !== undefined && !model.capabilities.tools)
    return { message: `The model ${model.id} does not take tools.`, param: needs.tools };
  if (needs.images !== undefined && !model.capabilities.images)
    return { message: `The model ${model.id} does not take images.`, param: needs.images };
  const [hosted, ...others] = unpricedTools(provider, facts);
  // Where other tools remain, the attempt leaves the unpriced ones out.
  if (hosted && others.length + 1 === arrayAt(body, 'tools')?.length) {
    return {
      message: `The hosted tool type ${JSON.stringify(hosted.type)} has no configured price here.`,
      param: hosted.param,
    };
  }
  if (facts.serviceTier !== null && !['auto', 'default', ...provider.serviceTiers].includes(facts.serviceTier)) {
    return {
      message: `The service tier ${JSON.stringify(facts.serviceTier)} has no configured price here.`,
      param: 'service_tier',
    };
  }
  return null;
}

/** Tools that the provider would run at a price that the operator has not configured. */
export function unpricedTools(provider: Provider, facts: RequestFacts): readonly HostedTool[] {
  return facts.hostedTools.filter(({ type }) => !provider.hostedTools.includes(type));
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
