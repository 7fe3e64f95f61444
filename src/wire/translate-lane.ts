/** The lane between two formats: the hub in the middle, the client's format on one side, the target's on the other. */
import { randomUUID } from 'node:crypto';
import { GatewayError } from '../core/conditions.ts';
import type { Format } from '../core/endpoints.ts';
import { type JsonObject, parseJson } from '../lib/json.ts';
import { broken } from './errors.ts';
import { HUB_FORMATS } from './hub.ts';
import type { Lane, LaneFailure, UpstreamOrder } from './lane.ts';
import { Shaper, TranslateStream, TurnMeter } from './translate/stream.ts';
import { type ToolNames, toolNames } from './translate/tool-names.ts';
import type { AnswerContext, TurnEvent, WrittenTurn } from './translate/turn.ts';
import { readFailure } from './upstream-failure.ts';

export interface TranslateRequest {
  /** The client's format. */
  readonly from: Format;
  /** The target's format. Where it is the client's own, the request passes as it is and the answer is written anew. */
  readonly to: Format;
  readonly body: JsonObject;
  /** The id that the client asked for: what `model` says in everything it gets back. */
  readonly publicModel: string;
  /** What `message_start` says of the input where the provider has not told by then. */
  readonly likelyInputTokens?: number | undefined;
  /** The field in which a chat target takes the output limit; `max_tokens` by default. */
  readonly outputLimitField?: 'max_tokens' | 'max_completion_tokens' | undefined;
  /** Whether the model reasons; false leaves every reasoning setting out. True by default. */
  readonly reasoning?: boolean | undefined;
  /** How a messages target is asked to think: with a budget (the default), or by effort alone. */
  readonly thinking?: 'budget' | 'adaptive' | undefined;
  /** Whether a responses target takes settings and cache marks that its format has no field for; false by default. */
  readonly extended?: boolean | undefined;
  readonly nowS?: (() => number) | undefined;
  /** The id for answers whose provider gives none. */
  readonly answerId?: string | undefined;
}

export interface TranslateLane extends Lane {
  readonly kind: 'translate';
  readonly warnings: readonly string[];
}

/** The bound that refusals are looked for under, before the effective output limit is known. */
const OUTPUT_LIMIT_UNKNOWN = Number.MAX_SAFE_INTEGER;

/**
 * Throws `GatewayError('invalid_request')` at once where the request cannot be carried, so that nothing is held for a
 * request that could never be sent.
 */
export function translateLane(request: TranslateRequest): TranslateLane {
  const { from, to, body } = request;
  const order = from === to ? nativeOrder(request) : translatedOrder(request);
  const target = HUB_FORMATS[to];
  const client = HUB_FORMATS[from];
  let outputLimit: number | null = null;
  const context = (): AnswerContext => ({
    publicModel: request.publicModel,
    request: body,
    nowS: request.nowS ?? (() => Math.floor(Date.now() / 1000)),
    answerId: request.answerId ?? randomUUID().replaceAll('-', ''),
    includeUsage: order.includeUsage,
    likelyInputTokens: request.likelyInputTokens ?? 0,
    outputLimit,
  });
  return {
    kind: 'translate',
    warnings: order.warnings,
    requestBody(upstream) {
      outputLimit = upstream.outputLimit;
      return Buffer.from(JSON.stringify(order.body(upstream)));
    },
    whole(answer) {
      const parsed = parseJson(answer.toString());
      if (parsed === undefined) broken('it is not JSON.');
      const meter = new TurnMeter(to);
      const shaper = new Shaper(order.names, order.stop, from);
      const events: TurnEvent[] = [];
      for (const event of target.readBody(parsed)) {
        if (event.type === 'failure') throw asError(readFailure(event.error, true));
        meter.take(event);
        events.push(...shaper.shape(event));
      }
      return { body: Buffer.from(JSON.stringify(client.writeBody(events, context()))), meter: meter.read() };
    },
    stream: () =>
      new TranslateStream(
        target.reader(),
        client.writer(context()),
        new Shaper(order.names, order.stop, from),
        new TurnMeter(to),
      ),
  };
}

function asError(failure: LaneFailure): GatewayError {
  return new GatewayError(failure.condition, { message: failure.message });
}

interface Order {
  readonly names: ToolNames;
  /** Stop sequences that the target's format cannot be told. */
  readonly stop: readonly string[];
  readonly includeUsage: boolean;
  readonly warnings: readonly string[];
  body(upstream: UpstreamOrder): object;
}

function translatedOrder(request: TranslateRequest): Order {
  const { from, to } = request;
  const turn = HUB_FORMATS[from].toTurn(request.body);
  const names = toolNames(turn, to);
  const write = (outputLimit: number): WrittenTurn => {
    const { reasoning = true, thinking = 'budget', extended } = request;
    const traits = { outputLimit, reasoning, thinking, extended };
    return HUB_FORMATS[to].fromTurn(turn, traits, names);
  };
  const written = write(OUTPUT_LIMIT_UNKNOWN);
  // Only a thinking budget depends on the output limit.
  const depends = to === 'messages' && turn.settings.reasoning !== undefined;
  return {
    names,
    stop: to === 'responses' ? (turn.settings.stop ?? []) : [],
    includeUsage: turn.includeUsage,
    warnings: written.warnings,
    body(upstream) {
      const { body } = depends ? write(upstream.outputLimit) : written;
      return { model: upstream.upstreamModel, ...body, [limitField(to, request)]: upstream.outputLimit };
    },
  };
}

/** The client's own body, with what the contract needs set: nothing that the target knows is lost on the way. */
function nativeOrder(request: TranslateRequest): Order {
  const { to, body } = request;
  const options = body.stream_options;
  const asked = typeof options === 'object' && options !== null && 'include_usage' in options && options.include_usage;
  if (to === 'chat' && typeof body.n === 'number' && body.n > 1) {
    throw new GatewayError('invalid_request', { param: 'n', message: 'This model gives one answer per request.' });
  }
  return {
    names: { out: (tool) => tool.name, back: (name) => ({ kind: 'function', name }) },
    stop: [],
    includeUsage: to !== 'chat' || asked === true,
    warnings: [],
    body(upstream) {
      const field =
        to === 'chat' && 'max_completion_tokens' in body ? 'max_completion_tokens' : limitField(to, request);
      const usage = to === 'chat' && body.stream === true ? { stream_options: { include_usage: true } } : {};
      return { ...body, ...usage, model: upstream.upstreamModel, [field]: upstream.outputLimit };
    },
  };
}

function limitField(to: Format, request: TranslateRequest): string {
  if (to === 'responses') return 'max_output_tokens';
  return to === 'chat' ? (request.outputLimitField ?? 'max_tokens') : 'max_tokens';
}
