/**
 * The lanes of a request, one per format that its targets speak. They are made before ADMIT: a request that cannot be
 * carried to a target is refused, or goes to another target, before it holds anything.
 */
import { GatewayError } from '../core/conditions.ts';
import type { Format } from '../core/endpoints.ts';
import type { Model, Target } from '../core/model.ts';
import type { Provider } from '../core/provider.ts';
import { withoutForeignThoughts } from '../wire/foreign-thoughts.ts';
import { FORMATS } from '../wire/formats.ts';
import { arrayAt } from '../wire/json.ts';
import type { Lane } from '../wire/lane.ts';
import { type ParsedBody, parseBody } from '../wire/parse.ts';
import { completingLane } from '../wire/responses/completing.ts';
import { change } from '../wire/splice.ts';
import { translateLane } from '../wire/translate.ts';
import type { ValidRequest } from './read.ts';

export interface LanesOptions {
  readonly format: Format;
  readonly request: ValidRequest;
  readonly model: Model;
  /** The answer is written by this side even where bytes could pass, so that it can be ended at any point. */
  readonly writesAnew: boolean;
  /** What `message_start` says of the input before the provider has told. */
  likelyInputTokens(): number;
}

export class Lanes {
  readonly #options: LanesOptions;
  readonly #made = new Map<string, Lane>();

  constructor(options: LanesOptions) {
    this.#options = options;
  }

  /** Throws `GatewayError('invalid_request')` where the request cannot be carried to this target. */
  to(target: Target, provider: Provider): Lane {
    const name = `${target.format} ${provider.chatLimitField} ${provider.hostedTools.join()}`;
    let lane = this.#made.get(name);
    if (!lane) {
      lane = this.#make(target, provider);
      this.#made.set(name, lane);
    }
    return lane;
  }

  #make(target: Target, provider: Provider): Lane {
    const { format, request, model } = this.#options;
    const priced = withoutUnpriced(request, provider);
    const { bytes, body, layout } = target.format === format ? withoutForeignThoughts(format, priced) : priced;
    const outputLimitField = provider.chatLimitField;
    const translate = (): Lane =>
      translateLane({
        from: format,
        to: target.format,
        body,
        publicModel: model.id,
        likelyInputTokens: format === 'messages' ? this.#options.likelyInputTokens() : undefined,
        outputLimitField,
        reasoning: model.capabilities.reasoning,
      });
    if (target.format !== format || this.#options.writesAnew) return translate();
    const { facts } = request;
    const passthrough = FORMATS[format].passthrough({
      bytes,
      body,
      layout,
      facts,
      publicModel: model.id,
      outputLimitField,
    });
    return format === 'responses' ? completingLane(passthrough, translate) : passthrough;
  }
}

/** The request without the hosted tools that this provider would run at a price that nobody has configured. */
function withoutUnpriced(request: ValidRequest, provider: Provider): ParsedBody {
  const unpriced = new Set(
    request.facts.hostedTools.filter(({ type }) => !provider.hostedTools.includes(type)).map(({ param }) => param),
  );
  if (unpriced.size === 0) return request;
  const tools = (arrayAt(request.body, 'tools') ?? []).filter((_, index) => !unpriced.has(`tools[${index}]`));
  if (tools.length === 0) {
    const [first] = request.facts.hostedTools;
    throw new GatewayError('invalid_request', {
      message: `The hosted tool type ${JSON.stringify(first?.type)} has no configured price here.`,
      param: first?.param,
    });
  }
  return parseBody(change(request.bytes, [{ path: ['tools'], json: JSON.stringify(tools) }], request.layout));
}
