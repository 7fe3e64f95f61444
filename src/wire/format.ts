/** A format module: what the gateway must know of one wire format to bill it, to pass it through and to translate it. */
import type { Format } from '../core/endpoints.ts';
import type { TokenCounts } from '../core/usage.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { OptionalFields } from './json/omit-nulls.ts';
import type { Layout } from './json/scan.ts';
import type { Lane, StreamPosition } from './lane.ts';
import type { AnswerState } from './responses/answer-state.ts';
import type { ToolNames } from './translate/tool-names.ts';
import type {
  AnswerContext,
  EventReader,
  EventWriter,
  TargetTraits,
  Turn,
  TurnEvent,
  WrittenTurn,
} from './translate/turn.ts';

/** The facts about a valid request that admission, estimate and lanes need. */
export interface RequestInfo {
  readonly model: string;
  readonly stream: boolean;
  /** The output limit that the client gave, null where it gave none. */
  readonly outputLimit: number | null;
  /** The name of the field that gave it, for `param`. */
  readonly outputLimitParam: string;
  /** How many answers are asked for (`n`). */
  readonly choices: number;
  /** The capabilities that the request needs; the value is the JSON path of the first field that needs it. */
  readonly needs: Partial<Record<Need, string>>;
  /** Images and files in the body, and how many bytes of the body their inline data take. */
  readonly attachments: { readonly count: number; readonly inlineBytes: number };
  /** Tools that the provider would run itself, wherever they are declared; whether they are priced is judged elsewhere. */
  readonly hostedTools: readonly HostedTool[];
  /** The request's choice about reasoning; `unsaid` leaves it to the model. */
  readonly reasoning: 'on' | 'off' | 'unsaid';
}

export type Need = 'tools' | 'images' | 'files' | 'reasoning' | 'structured_output' | 'streaming';

export interface HostedTool {
  readonly type: string;
  /** The JSON path of the declaration. */
  readonly param: string;
  /** The declaration; absent where a field of the request asks for the tool. */
  readonly tool?: JsonObject;
}

export interface FormatContext {
  /** A native Format B client that opts into extensions (`anthropic-beta`). */
  readonly betas: boolean;
  /** Whether the request may still refer to stored responses; what is sent to a provider never does. */
  readonly references?: boolean | undefined;
}

export type ChatLimitField = 'max_tokens' | 'max_completion_tokens';

export interface WireFormat {
  readonly name: Format;
  /** The member of a request that holds the conversation: what a refusal of the input as a whole names. */
  readonly inputField: 'messages' | 'input';
  /** Those of a client's stop sequences that a target of this format takes; the gateway applies the others itself. */
  takenStopSequences(stop: readonly string[]): readonly string[];
  /** Whether an answer has a field of its own for the explanation of a refusal. */
  readonly explainsRefusals: boolean;
  /** The members of a request that may be `null` instead of absent. */
  readonly optionalFields: OptionalFields;
  /**
   * Validates the parsed body against the schema and the format's own rules and returns its info.
   * Throws `GatewayError('invalid_request')` with `param` set to the first offending field.
   */
  validateRequest(body: JsonObject, bytes: Buffer, context: FormatContext): RequestInfo;
  /** The lane to a target of the same format. */
  passthrough(request: PassthroughRequest): Lane;
  /** The frames that report, in-band, the failure of a stream that has started. */
  failureFrames(failure: InBandFailure): Buffer;
  /** The frame that keeps a silent stream alive: a `ping` event or an SSE comment. */
  readonly keepAlive: Buffer;

  /** The field of a request that holds the output limit; chat targets differ in theirs. */
  outputLimitField(chatField: ChatLimitField): string;
  /** Whether the client of a stream wants to see its usage. */
  asksForUsage(body: JsonObject): boolean;
  /** A request → the hub. Throws `GatewayError('invalid_request')` where no other format can carry it. */
  toTurn(body: JsonObject): Turn;
  /** The hub → a request. Throws `GatewayError('invalid_request')` where this format cannot carry it. */
  fromTurn(turn: Turn, traits: TargetTraits, names: ToolNames): WrittenTurn;
  /** The provider's answer → the hub, streamed or whole. */
  reader(): EventReader;
  readBody(body: Json): readonly TurnEvent[];
  /** The hub → the client's answer, streamed or whole. */
  writer(context: AnswerContext): EventWriter;
  writeBody(events: readonly TurnEvent[], context: AnswerContext): object;
  /** The usage as an answer shows it. */
  writeTokens(tokens: TokenCounts): object;
}

export interface PassthroughRequest {
  /** The exact bytes of the client's body, and what they parse to. */
  readonly bytes: Buffer;
  readonly body: JsonObject;
  readonly info: RequestInfo;
  /** The places of the body's members, as `parseBody` found them; looked for again where they are not given. */
  readonly layout?: Layout | undefined;
  /** The field in which a chat target takes the output limit when the client gave none; `max_tokens` by default. */
  readonly outputLimitField?: ChatLimitField | undefined;
  /** The id that the client asked for: what `model` says in everything it gets back. */
  readonly publicModel: string;
  /** Whether the gateway may have to end the stream before the provider does; false by default. */
  readonly mayBeCut?: boolean | undefined;
  /** The estimated input, for usage that must be shown before the provider reports it; 0 by default. */
  readonly likelyInputTokens?: (() => number) | undefined;
  /** The most tokens that the request can take; without a bound by default. */
  readonly tokensMax?: (() => number) | undefined;
  /** The state of a response that the gateway keeps, as its answer shows it; by default as the provider says. */
  readonly state?: AnswerState | undefined;
  /** Whether the provider may store the answer; it is asked not to by default. */
  readonly storesResponses?: boolean | undefined;
  /** Whether this model is asked for its encrypted reasoning, although the client did not ask; no model by default. */
  readonly wantsEncrypted?: ((upstreamModel: string) => boolean) | undefined;
}

export interface InBandFailure {
  readonly code: string;
  readonly type: string;
  readonly typeB: string;
  readonly message: string;
  readonly requestId: string;
  /** The id that the client asked for, for formats whose failure event is a whole object. */
  readonly publicModel?: string | undefined;
  /** The result of `LaneStream.position`, where the lane has it. */
  readonly position?: StreamPosition | undefined;
}

/** Reasoning by the effort that chat and responses requests name; `none` turns it off. */
export function reasoningOf(effort: unknown): RequestInfo['reasoning'] {
  if (effort === undefined || effort === null) return 'unsaid';
  return effort === 'none' ? 'off' : 'on';
}
