/**
 * The lanes of a request, one per provider and format that its targets speak. They are made before ADMIT: a request that
 * cannot be sent to a target is refused, or goes to another target, before it holds anything.
 */
import { GatewayError } from '../core/conditions.ts';
import type { Format } from '../core/endpoints.ts';
import type { Model, Target } from '../core/model.ts';
import { MULTIPLIER_FIELDS } from '../core/money.ts';
import { hasDearerTier, hostedToolOf, isPlainValue } from '../core/price-terms.ts';
import type { Provider } from '../core/provider.ts';
import { shownName } from '../core/request-text.ts';
import { askedLifetime, refuseLifetime } from '../wire/cache-lifetime.ts';
import { FORMATS } from '../wire/formats.ts';
import { change } from '../wire/json/edit.ts';
import { type ParsedBody, parseBody } from '../wire/json/parse-request.ts';
import type { Lane } from '../wire/lane.ts';
import { stripForeignReasoning } from '../wire/passthrough/strip-foreign-reasoning.ts';
import { stripPackedReasoning } from '../wire/passthrough/strip-packed-reasoning.ts';
import { compactingLane } from '../wire/responses/compaction.ts';
import { untold } from '../wire/translate/history.ts';
import { translateLane } from '../wire/translate-lane.ts';
import { type HostedToolContext, withHostedTools } from './hosted-tools.ts';
import { mayEncryptReasoning, samplingStyle, thinkingStyle } from './reasoning-models.ts';
import type { ValidRequest } from './request.ts';
import { summaryOf } from './warnings.ts';

interface LanesOptions {
  readonly format: Format;
  readonly request: ValidRequest;
  readonly model: Model;
  /** The gateway may have to end a stream before the provider does. */
  readonly mayBeCut: boolean;
  /** The estimated input, shown to clients whose format must state usage that the provider has not reported. */
  readonly likelyInputTokens: () => number;
  /** The same as in `HostedToolContext`. */
  readonly usableModel: HostedToolContext['usableModel'];
  /** The most tokens that the request can take. */
  readonly tokensMax: () => number;
}

/** A list that is nearly always of one. */
interface MadeLane {
  readonly target: Target;
  readonly provider: Provider;
  readonly lane: Lane | GatewayError;
  readonly before: MadeLane | null;
}

export class Lanes {
  readonly #options: LanesOptions;
  #made: MadeLane | null = null;

  constructor(options: LanesOptions) {
    this.#options = options;
  }

  /** Null where the request can be sent to this target. */
  refusal(target: Target, provider: Provider): GatewayError | null {
    const lane = this.#laneOrRefusal(target, provider);
    return lane instanceof GatewayError ? lane : null;
  }

  /** Throws the refusal where the request cannot be sent to this target. */
  to(target: Target, provider: Provider): Lane {
    const lane = this.#laneOrRefusal(target, provider);
    if (lane instanceof GatewayError) throw lane;
    return lane;
  }

  /** No target is asked any more. */
  release(): void {
    this.#made = null;
  }

  #laneOrRefusal(target: Target, provider: Provider): Lane | GatewayError {
    for (let made = this.#made; made !== null; made = made.before) {
      if (made.provider === provider && areAskedAlike(made.target, target)) return made.lane;
    }
    const lane = this.#tryMake(target, provider);
    this.#made = { target, provider, lane, before: this.#made };
    return lane;
  }

  #tryMake(target: Target, provider: Provider): Lane | GatewayError {
    try {
      return this.#make(target, provider);
    } catch (error) {
      if (error instanceof GatewayError) return error;
      throw error;
    }
  }

  #make(target: Target, provider: Provider): Lane {
    const { request } = this.#options;
    const { hostedTools } = request.info;
    if (provider.kind === 'ai-sdk') refuseMultiplied(request);
    const plain = withPlainTier(request, this.#options, target, provider);
    if (hostedTools.length === 0) return withWarnings(this.#compact(plain, target, provider), []);
    const { format, model, usableModel } = this.#options;
    const { pricing } = model;
    const translated = target.format !== format && format !== 'chat';
    const unpriced = hostedTools.filter(({ type, param }) => {
      // A translation never sends a tool that the conversation declares for its own format, and says what becomes of it.
      if (translated && !param.startsWith('tools[')) return false;
      return hostedToolOf(pricing, provider.name, type) === null;
    });
    const context = { format, pricing, provider: provider.name, usableModel };
    const priced = withHostedTools(plain, hostedTools, unpriced, context);
    const leftOut = unpriced.map(
      ({ type, param }) => `${param}: the hosted tool "${shownName(type)}" is left out, it has no configured price`,
    );
    return withWarnings(this.#compact(priced, target, provider), leftOut);
  }

  #compact(priced: ParsedBody, target: Target, provider: Provider): Lane {
    const { compaction } = this.#options.request;
    const carried = this.#carry(priced, target, provider);
    return compaction ? compactingLane(carried, compaction) : carried;
  }

  #carry(priced: ParsedBody, target: Target, provider: Provider): Lane {
    const { request, model, mayBeCut, likelyInputTokens, tokensMax } = this.#options;
    const from = FORMATS[this.#options.format];
    const to = FORMATS[target.format];
    const state = request.state?.answer;
    const lifetime = askedLifetime(priced.body);
    const unpricedLifetime = lifetime?.lifetime === 'long' && model.pricing.longCacheWrites ? null : lifetime;
    const publicModel = model.id;
    const outputLimitField = provider.chatLimitField;
    if (from !== to) {
      const { reasoning } = model.capabilities;
      return translateLane({
        publicModel,
        outputLimitField,
        likelyInputTokens,
        tokensMax,
        state,
        from,
        to,
        body: priced.body,
        reasoning,
        thinking: thinkingStyle(target.upstreamModel),
        sampling: samplingStyle(target.upstreamModel),
        extended: provider.kind === 'ai-sdk',
        unpricedLifetime,
      });
    }
    if (unpricedLifetime !== null) refuseLifetime(unpricedLifetime);
    const readable = request.state ? stripForeignReasoning(priced, request.state.storedReasoning, provider) : priced;
    const { bytes, body, layout } = stripPackedReasoning(from.inputField, readable);
    const lane = from.passthrough({
      bytes,
      body,
      layout,
      publicModel,
      outputLimitField,
      likelyInputTokens,
      tokensMax,
      state,
      info: request.info,
      mayBeCut,
      storesResponses: provider.storesResponses,
      wantsEncrypted: encryptedWanted(request, model, provider),
    });
    // A package is asked by its adapter, which reads the request as a translation does.
    return provider.kind === 'ai-sdk' ? { ...lane, warnings: untold(from.toTurn(priced.body)) } : lane;
  }
}

/** Whether two targets of a provider are asked in the same way. */
function areAskedAlike(one: Target, other: Target): boolean {
  if (one === other) return true;
  return (
    one.format === other.format &&
    thinkingStyle(one.upstreamModel) === thinkingStyle(other.upstreamModel) &&
    samplingStyle(one.upstreamModel) === samplingStyle(other.upstreamModel)
  );
}

/** `leftOut`: what was left out before the lane was made. */
function withWarnings(lane: Lane, leftOut: readonly string[]): Lane {
  const { warnings = [] } = lane;
  return warnings.length + leftOut.length === 0 ? lane : { ...lane, warnings: summaryOf([...leftOut, ...warnings]) };
}

/**
 * Which models are asked for the encrypted reasoning of a response that is kept: the provider does not store it, and so has to
 * be sent it again. A model that does not reason refuses to give it.
 */
function encryptedWanted(
  { state, info }: ValidRequest,
  { capabilities }: Model,
  { storesResponses }: Provider,
): ((upstreamModel: string) => boolean) | undefined {
  if (!state?.answer.hidesEncrypted || storesResponses || !capabilities.reasoning) return undefined;
  return (upstreamModel) => info.reasoning === 'on' || mayEncryptReasoning(upstreamModel);
}

/**
 * `auto` can mean a tier that costs more, where the provider has one: it is the tier that the operator's project has by
 * default. What is sent instead is the plain service, which is what is held for it. Anthropic's `auto` never costs more.
 */
function withPlainTier(
  request: ParsedBody,
  { format, model }: LanesOptions,
  to: Target,
  provider: Provider,
): ParsedBody {
  if (request.body.service_tier !== 'auto' || to.format === 'messages') return request;
  if (!hasDearerTier(model.pricing, provider.name)) return request;
  const json = format === 'messages' ? '"standard_only"' : '"default"';
  return parseBody(change(request.bytes, [{ path: ['service_tier'], json }], request.layout));
}

/** Packages are not given these fields: what would change the price is not lost in silence. */
function refuseMultiplied({ costFields }: ValidRequest): void {
  for (const field of MULTIPLIER_FIELDS) {
    const value = costFields.multipliers[field];
    if (value === undefined || isPlainValue(field, value)) continue;
    throw new GatewayError('invalid_request', {
      message: `${field} ${JSON.stringify(value)} is not supported by this model.`,
      param: field,
    });
  }
}
