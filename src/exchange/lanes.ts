/**
 * The lanes of a request, one per provider and format that its targets speak. They are made before ADMIT: a request that
 * cannot be sent to a target is refused, or goes to another target, before it holds anything.
 */
import { GatewayError } from '../core/conditions.ts';
import type { Format } from '../core/endpoints.ts';
import type { Model, Target } from '../core/model.ts';
import { MULTIPLIER_FIELDS } from '../core/money.ts';
import { callsWithinHold, hostedToolOf, isPlainValue } from '../core/price-terms.ts';
import type { Provider } from '../core/provider.ts';
import { shownName } from '../core/request-text.ts';
import { arrayAt, isObject, type Json, stringAt } from '../lib/json.ts';
import type { HostedTool } from '../wire/format.ts';
import { FORMATS } from '../wire/formats.ts';
import { change } from '../wire/json/edit.ts';
import { type ParsedBody, parseBody } from '../wire/json/parse-request.ts';
import type { Lane } from '../wire/lane.ts';
import { stripForeignReasoning } from '../wire/passthrough/strip-foreign-reasoning.ts';
import { stripPackedReasoning } from '../wire/passthrough/strip-packed-reasoning.ts';
import type { SamplingStyle, ThinkingStyle } from '../wire/translate/turn.ts';
import { translateLane } from '../wire/translate-lane.ts';
import { mayEncryptReasoning, samplingStyle, thinkingStyle } from './reasoning-models.ts';
import type { ValidRequest } from './request.ts';
import { summaryOf } from './warnings.ts';

/** Tools of the messages format that take a bound of their calls. */
const TAKES_MAX_USES = /^web_(search|fetch)_/;

export interface LanesOptions {
  readonly format: Format;
  readonly request: ValidRequest;
  readonly model: Model;
  /** The gateway may have to end a stream before the provider does. */
  readonly mayBeCut: boolean;
  /** The estimated input, shown to clients whose format must state usage that the provider has not reported. */
  readonly likelyInputTokens: () => number;
  /** The most tokens that the request can take. */
  readonly tokensMax: () => number;
}

interface MadeLane {
  readonly format: Format;
  readonly provider: Provider;
  readonly thinking: ThinkingStyle;
  readonly sampling: SamplingStyle;
  readonly lane: Lane | GatewayError;
}

export class Lanes {
  readonly #options: LanesOptions;
  readonly #made: MadeLane[] = [];

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

  #laneOrRefusal(target: Target, provider: Provider): Lane | GatewayError {
    const { format } = target;
    const thinking = thinkingStyle(target.upstreamModel);
    const sampling = samplingStyle(target.upstreamModel);
    const made = this.#made.find(
      (one) =>
        one.format === format && one.provider === provider && one.thinking === thinking && one.sampling === sampling,
    );
    if (made) return made.lane;
    const lane = this.#tryMake(target, provider);
    this.#made.push({ format, provider, thinking, sampling, lane });
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
    const { pricing } = this.#options.model;
    if (provider.kind === 'ai-sdk') refuseMultiplied(request);
    const unpriced = request.info.hostedTools.filter(({ type }) => hostedToolOf(pricing, provider.name, type) === null);
    const bounded = boundCalls(withoutTools(request, unpriced), this.#options, provider.name);
    const lane = this.#carry(bounded, target, provider);
    const warnings = unpriced
      .map(
        ({ type, param }) => `${param}: the hosted tool "${shownName(type)}" is left out, it has no configured price`,
      )
      .concat(lane.warnings ?? []);
    return warnings.length === 0 ? lane : { ...lane, warnings: summaryOf(warnings) };
  }

  #carry(priced: ParsedBody, target: Target, provider: Provider): Lane {
    const { request, model, mayBeCut, likelyInputTokens, tokensMax } = this.#options;
    const from = FORMATS[this.#options.format];
    const to = FORMATS[target.format];
    const state = request.state?.answer;
    const outputLimitField = provider.chatLimitField;
    const common = { publicModel: model.id, outputLimitField, likelyInputTokens, tokensMax, state };
    if (from !== to) {
      const { reasoning } = model.capabilities;
      return translateLane({
        ...common,
        from,
        to,
        body: priced.body,
        reasoning,
        thinking: thinkingStyle(target.upstreamModel),
        sampling: samplingStyle(target.upstreamModel),
        extended: provider.kind === 'ai-sdk',
      });
    }
    const readable = request.state ? stripForeignReasoning(priced, request.state.storedReasoning, provider) : priced;
    return from.passthrough({
      ...stripPackedReasoning(from.inputField, readable),
      ...common,
      info: request.info,
      mayBeCut,
      storesResponses: provider.storesResponses,
      wantsEncrypted: (upstreamModel) => wantsEncrypted(request, model, provider, upstreamModel),
    });
  }
}

/**
 * Whether a response that is kept should have its encrypted reasoning: the provider does not store it, and so has to be sent
 * it again. A model that does not reason refuses to give it.
 */
function wantsEncrypted(request: ValidRequest, model: Model, provider: Provider, upstreamModel: string): boolean {
  if (!request.state?.answer.hidesEncrypted || provider.storesResponses || !model.capabilities.reasoning) return false;
  return request.info.reasoning === 'on' || mayEncryptReasoning(upstreamModel);
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

/**
 * The request without hosted tools that the provider would run and that have no configured price. Only members of
 * `tools` can be left out, and only while others remain.
 */
function withoutTools(request: ValidRequest, unpriced: readonly HostedTool[]): ParsedBody {
  const [first] = unpriced;
  if (first === undefined) return request;
  const left = new Set(unpriced.map(({ param }) => param));
  const tools = (arrayAt(request.body, 'tools') ?? []).filter((_, index) => !left.delete(`tools[${index}]`));
  const refused = tools.length === 0 ? first : unpriced.find(({ param }) => left.has(param));
  if (refused) {
    throw new GatewayError('invalid_request', {
      message: `The hosted tool type ${JSON.stringify(refused.type)} has no configured price here.`,
      param: refused.param,
    });
  }
  return withMember(request, 'tools', tools);
}

/**
 * The request with the bound of hosted calls that its hold carries, in the field that its format has for it; a client's own
 * lower bound stays. Chat has no such field. What a translation leaves of hosted tools is bounded by leaving them out.
 */
function boundCalls(body: ParsedBody, { format, request, model }: LanesOptions, provider: string): ParsedBody {
  const types = request.info.hostedTools.map(({ type }) => type);
  if (types.length === 0) return body;
  if (format === 'responses') {
    const most = callsWithinHold(model.pricing, provider, types);
    const asked = body.body.max_tool_calls;
    if (most === null || (typeof asked === 'number' && asked <= most)) return body;
    return withMember(body, 'max_tool_calls', most);
  }
  if (format !== 'messages') return body;
  let changed = false;
  const tools = (arrayAt(body.body, 'tools') ?? []).map((tool) => {
    const type = isObject(tool) ? stringAt(tool, 'type') : undefined;
    if (!isObject(tool) || type === undefined || !TAKES_MAX_USES.test(type)) return tool;
    const most = hostedToolOf(model.pricing, provider, type)?.maxCalls;
    if (most === undefined || (typeof tool.max_uses === 'number' && tool.max_uses <= most)) return tool;
    changed = true;
    return { ...tool, max_uses: most };
  });
  return changed ? withMember(body, 'tools', tools) : body;
}

function withMember({ bytes, layout }: ParsedBody, name: string, value: Json): ParsedBody {
  return parseBody(change(bytes, [{ path: [name], json: JSON.stringify(value) }], layout));
}
