/** The lane between two formats: the hub in the middle, the client's format on one side, the target's on the other. */
import { MULTIPLIER_FIELDS } from '../core/money.ts';
import { isPlainValue } from '../core/price-terms.ts';
import { shownName } from '../core/request-text.ts';
import type { JsonObject } from '../lib/json.ts';
import { type AnswerOptions, answersThrough } from './answers.ts';
import { type AskedLifetime, askedLifetime, refuseLifetime } from './cache-lifetime.ts';
import { refuse } from './errors.ts';
import type { ChatLimitField, WireFormat } from './format.ts';
import type { LaneWithWarnings } from './lane.ts';
import { toolNames } from './translate/tool-names.ts';
import type { SamplingStyle, ThinkingStyle, WrittenTurn } from './translate/turn.ts';

export interface TranslateRequest extends AnswerOptions {
  /** The client's format. */
  readonly from: WireFormat;
  /** The target's format. */
  readonly to: WireFormat;
  readonly body: JsonObject;
  /** The field in which a chat target takes the output limit; `max_tokens` by default. */
  readonly outputLimitField?: ChatLimitField | undefined;
  /** Whether the model reasons; false leaves every reasoning setting out. True by default. */
  readonly reasoning?: boolean | undefined;
  /** `budget` by default. */
  readonly thinking?: ThinkingStyle | undefined;
  /** `all` by default. */
  readonly sampling?: SamplingStyle | undefined;
  /** Whether a responses target takes settings and cache breakpoints that its format has no field for; false by default. */
  readonly extended?: boolean | undefined;
  /** A lifetime of cache writes that the request asks for and that has no price; null by default. */
  readonly unpricedLifetime?: AskedLifetime | null | undefined;
}

/** The bound that refusals are looked for under, before the effective output limit is known. */
const OUTPUT_LIMIT_UNKNOWN = Number.MAX_SAFE_INTEGER;

/**
 * Throws `GatewayError('invalid_request')` at once where the request cannot be carried, so that nothing is held for a
 * request that could never be sent.
 */
export function translateLane(request: TranslateRequest): LaneWithWarnings {
  const { from, to } = request;
  const { outputLimitField = 'max_tokens', reasoning = true, thinking = 'budget', sampling, extended } = request;
  const turn = from.toTurn(request.body);
  const names = toolNames(turn, to.name);
  const write = (outputLimit: number): WrittenTurn =>
    to.fromTurn(turn, { outputLimit, reasoning, thinking, sampling, extended }, names);
  const written = write(OUTPUT_LIMIT_UNKNOWN);
  const limitField = to.outputLimitField(outputLimitField);
  refuseUnsent(request.body, written.body);
  const { unpricedLifetime = null } = request;
  if (unpricedLifetime !== null && askedLifetime(written.body as JsonObject) !== null) refuseLifetime(unpricedLifetime);
  let sentLimit: number | null = null;
  const answers = answersThrough({
    ...request,
    names,
    stop: withoutTaken(turn.settings.stop ?? [], from, to),
    jsonObject: written.asksForJsonObject,
    includeUsage: turn.includeUsage,
    outputLimit: () => sentLimit,
  });
  return {
    kind: 'translate',
    warnings: [...written.warnings, ...unknownFields(from, request.body)],
    requestBody({ upstreamModel, outputLimit }) {
      sentLimit = outputLimit;
      const { body } = written.usesOutputLimit === true ? write(outputLimit) : written;
      return Buffer.from(JSON.stringify({ model: upstreamModel, ...body, [limitField]: outputLimit }));
    },
    ...answers,
  };
}

/** Members of a request that are known and may not be left out, or belong to servers that extend a format. */
const NEVER_OPTIONAL = new Set(['model', 'messages', 'input', 'top_k']);

/** What no public schema knows has no counterpart, whatever it means. */
function unknownFields({ optionalFields }: WireFormat, body: JsonObject): readonly string[] {
  return Object.keys(body)
    .filter((name) => !NEVER_OPTIONAL.has(name) && !optionalFields.optional.includes(name))
    .map((name) => `${shownName(name)}: left out, the target has no counterpart`);
}

/** A field that would change how the request is served, and with it its price, is not dropped silently. */
function refuseUnsent(asked: JsonObject, sent: Readonly<Record<string, unknown>>): void {
  for (const field of MULTIPLIER_FIELDS) {
    const value = asked[field];
    if (typeof value !== 'string' || sent[field] !== undefined || isPlainValue(field, value)) continue;
    refuse(field, `${field} ${JSON.stringify(value)} is not supported by this model.`);
  }
}

/** Of all together: they are kept as long as the answer goes on. */
const STOP_CHARACTERS_MAX = 8_192;

/** The stop sequences that the gateway applies itself: they are looked for in every piece of the answer. */
function withoutTaken(stop: readonly string[], from: WireFormat, to: WireFormat): readonly string[] {
  const taken = new Set(to.takenStopSequences(stop));
  const rest = stop.filter((sequence) => !taken.has(sequence));
  if (rest.reduce((sum, { length }) => sum + length, 0) > STOP_CHARACTERS_MAX) {
    const field = from.name === 'messages' ? 'stop_sequences' : 'stop';
    refuse(field, `${field} must not have more than ${STOP_CHARACTERS_MAX} characters together for this model.`);
  }
  return rest;
}
