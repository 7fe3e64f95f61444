/**
 * The hub of translation: a request as a `Turn` and an answer as a list of `TurnEvent`s, in no format's own terms.
 * Each format knows how to read and write the hub and knows nothing of the other formats.
 */
import type { Format } from '../../core/endpoints.ts';
import type { ReportedTerms } from '../../core/price-terms.ts';
import type { TokenCounts } from '../../core/usage.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { StreamPosition } from '../lane.ts';

/** A prompt-cache breakpoint, kept as the client wrote it; only formats of the same family can carry it. */
export interface CacheBreakpoint {
  readonly family: 'messages' | 'openai';
  readonly raw: JsonObject;
}

interface Cacheable {
  readonly cache?: CacheBreakpoint | undefined;
}

export interface TextPart extends Cacheable {
  readonly type: 'text';
  readonly text: string;
  /** Citations or annotations of an assistant's text, in the terms of `annotationFormat`. */
  readonly annotations?: readonly Annotation[] | undefined;
  /** Parts of one responses item share its id. */
  readonly itemId?: string | undefined;
}

export interface RefusalPart {
  readonly type: 'refusal';
  readonly text: string;
  readonly itemId?: string | undefined;
}

export type BinarySource =
  | { readonly kind: 'base64'; readonly mediaType: string; readonly data: string }
  | { readonly kind: 'url'; readonly url: string }
  /** A file stored at the provider: it means something only to the provider that stored it. */
  | { readonly kind: 'stored'; readonly id: string };

export interface ImagePart extends Cacheable {
  readonly type: 'image';
  readonly source: BinarySource;
  readonly detail?: string | undefined;
  readonly at: string;
}

export interface FilePart extends Cacheable {
  readonly type: 'file';
  readonly source: BinarySource | { readonly kind: 'text'; readonly text: string };
  readonly name?: string | undefined;
  /** The members of the messages format beside the document: `context` and `citations`. */
  readonly extra?: JsonObject | undefined;
  /** An answer follows it. */
  readonly past?: boolean | undefined;
  readonly at: string;
}

/** Reasoning of the model. Only the format that made it can take its signature back. */
export interface ReasoningPart {
  readonly type: 'reasoning';
  readonly reasoning: ReasoningBlock;
}

export interface ReasoningBlock {
  readonly origin: Format;
  /** Readable paragraphs: a thinking text, or the parts of a summary. */
  readonly texts: readonly string[];
  /** messages: the signature of a thinking block. */
  readonly signature?: string | undefined;
  /** messages: the data of a redacted thinking block. */
  readonly redacted?: string | undefined;
  /** responses: the item's id and encrypted content, and its full text where the provider shows it. */
  readonly id?: string | undefined;
  readonly encrypted?: string | undefined;
  readonly full?: readonly string[] | undefined;
}

export interface ToolCallPart extends Cacheable {
  readonly type: 'tool-call';
  readonly callId: string;
  readonly tool: ToolRef;
  /** JSON text of the arguments; for a custom tool the free text of its input. */
  readonly input: string;
  readonly itemId?: string | undefined;
}

export interface ToolResultPart extends Cacheable {
  readonly type: 'tool-result';
  readonly callId: string;
  readonly kind: ToolKind;
  readonly content: readonly (TextPart | ImagePart | FilePart | OpaquePart)[];
  readonly isError: boolean;
  readonly at: string;
}

/** A part that only its own format knows. */
export interface OpaquePart {
  readonly type: 'opaque';
  readonly format: Format;
  /** The conversation goes on without it: the provider has done it, or an answer follows it. */
  readonly past: boolean;
  readonly raw: JsonObject;
  readonly at: string;
}

export type Part =
  | TextPart
  | RefusalPart
  | ImagePart
  | FilePart
  | ReasoningPart
  | ToolCallPart
  | ToolResultPart
  | OpaquePart;

export interface TurnMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant';
  readonly parts: readonly Part[];
  /** The participant's name of the chat format. */
  readonly name?: string | undefined;
  readonly at: string;
}

/** `search` is the client-side tool search of the responses format: a function to every other format. */
export type ToolKind = 'function' | 'custom' | 'search';

export interface ToolRef {
  readonly kind: ToolKind;
  readonly name: string;
  readonly namespace?: string | undefined;
}

export interface ClientTool extends ToolRef, Cacheable {
  readonly description?: string | undefined;
  /** JSON Schema of the arguments; absent for custom tools. */
  readonly schema?: Json | undefined;
  readonly strict?: boolean | undefined;
  /** The input format of a custom tool (`text` or a grammar), in the terms of the responses format. */
  readonly grammar?: JsonObject | undefined;
  /** The description of the namespace, on the first of its tools. */
  readonly namespaceDescription?: string | undefined;
  readonly at: string;
}

/** A tool that only its own format knows: run by the provider (`hosted`), or by the client to a built-in schema. */
export interface ForeignTool {
  readonly kind: 'foreign';
  readonly format: Format;
  readonly hosted: boolean;
  readonly raw: JsonObject;
  readonly at: string;
}

export type TurnTool = ClientTool | ForeignTool;

export type ToolChoice =
  | { readonly kind: 'auto' | 'none' | 'required' }
  | { readonly kind: 'tool'; readonly tool: ToolRef }
  | { readonly kind: 'allowed'; readonly mode: 'auto' | 'required'; readonly tools: readonly ToolRef[] }
  | { readonly kind: 'foreign'; readonly format: Format; readonly raw: Json };

export type OutputShape =
  | { readonly kind: 'text' }
  | { readonly kind: 'json' }
  | {
      readonly kind: 'schema';
      readonly schema: Json;
      readonly name?: string | undefined;
      readonly description?: string | undefined;
      readonly strict?: boolean | undefined;
    };

export interface ReasoningSettings {
  readonly effort?: string | undefined;
  /** messages: `enabled`, `adaptive`, `disabled`, `between_tools`. */
  readonly thinking?: string | undefined;
  readonly budgetTokens?: number | undefined;
  /** responses: `auto`, `concise`, `detailed`. */
  readonly summary?: string | undefined;
  /** messages: `summarized` or `omitted`. */
  readonly display?: string | undefined;
}

/** Everything about the request that is one value. Absent means that the client said nothing. */
export interface TurnSettings {
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly topK?: number | undefined;
  readonly stop?: readonly string[] | undefined;
  readonly seed?: number | undefined;
  readonly frequencyPenalty?: number | undefined;
  readonly presencePenalty?: number | undefined;
  readonly logitBias?: JsonObject | undefined;
  readonly logprobs?: boolean | undefined;
  readonly topLogprobs?: number | undefined;
  readonly output?: OutputShape | undefined;
  readonly verbosity?: string | undefined;
  readonly reasoning?: ReasoningSettings | undefined;
  readonly parallelToolCalls?: boolean | undefined;
  readonly user?: string | undefined;
  readonly safetyIdentifier?: string | undefined;
  readonly metadata?: JsonObject | undefined;
  /** The effort in the terms of the chat and responses formats. */
  readonly serviceTier?: string | undefined;
  readonly promptCacheKey?: string | undefined;
  readonly promptCacheRetention?: string | undefined;
  /** Chat and responses have it in the same words. */
  readonly promptCacheOptions?: JsonObject | undefined;
  /** What the provider is to check and to block, in the words of the chat and responses formats. */
  readonly moderation?: JsonObject | undefined;
  /** messages: the top-level `cache_control`. */
  readonly cache?: CacheBreakpoint | undefined;
  readonly store?: boolean | undefined;
}

export interface Turn {
  readonly origin: Format;
  /** The member of the client's request that holds the conversation. */
  readonly inputField: 'messages' | 'input';
  /** `instructions` or the top-level `system`: said before every message. */
  readonly instructions: readonly TextPart[];
  readonly messages: readonly TurnMessage[];
  readonly tools: readonly TurnTool[];
  readonly toolChoice: ToolChoice | null;
  readonly settings: TurnSettings;
  readonly stream: boolean;
  /** A chat client that asked for the usage chunk. */
  readonly includeUsage: boolean;
  /** The fields that were left out on the way in, for the operator's log. */
  readonly warnings: readonly string[];
}

/** An annotation of generated text, in the terms of the format it came from. */
export type Annotation = { readonly format: 'messages' | 'responses'; readonly raw: JsonObject };

export type FinishReason =
  | 'stop'
  | 'stop-sequence'
  | 'length'
  | 'context'
  | 'tool'
  | 'refusal'
  | 'content-filter'
  | 'pause'
  | 'other';

/** `key` names a block of the answer: unique within it, and shared by the events of one block. */
export type TurnEvent =
  | {
      readonly type: 'start';
      readonly id: string | null;
      readonly createdS: number | null;
      readonly serviceTier?: string | undefined;
    }
  | {
      readonly type: 'text-start';
      readonly key: number;
      readonly kind: 'text' | 'refusal';
      /** Text blocks that the responses format holds in one message item share it. */
      readonly itemId?: string | undefined;
    }
  | {
      readonly type: 'text-delta';
      readonly key: number;
      readonly text: string;
      readonly logprobs?: readonly Json[] | undefined;
    }
  | { readonly type: 'annotation'; readonly key: number; readonly annotation: Annotation }
  | { readonly type: 'text-end'; readonly key: number }
  | {
      readonly type: 'reasoning-start';
      readonly key: number;
      readonly origin: Format;
      readonly id?: string | undefined;
    }
  | {
      readonly type: 'reasoning-delta';
      readonly key: number;
      readonly text: string;
      /** The paragraph that the text belongs to, ascending from 0. */
      readonly paragraph: number;
      /** `full` is the reasoning itself where the responses format shows it beside its summary. */
      readonly full?: boolean | undefined;
    }
  | {
      readonly type: 'reasoning-end';
      readonly key: number;
      readonly signature?: string | undefined;
      readonly redacted?: string | undefined;
      readonly encrypted?: string | undefined;
    }
  | {
      readonly type: 'tool-start';
      readonly key: number;
      readonly callId: string;
      readonly tool: ToolRef;
      readonly itemId?: string | undefined;
    }
  | { readonly type: 'tool-delta'; readonly key: number; readonly text: string }
  /** `incomplete`: the answer ended in the middle of the call, which must not be run. */
  | { readonly type: 'tool-end'; readonly key: number; readonly incomplete?: boolean | undefined }
  /** Text that only the target's own format has a place for: it is metered, and the client does not see it. */
  | { readonly type: 'unread'; readonly text: string }
  /** A block that only its own format knows, complete. */
  | { readonly type: 'opaque'; readonly format: Format; readonly raw: JsonObject }
  /** The best figures so far; a later one replaces an earlier one. */
  | {
      readonly type: 'usage';
      readonly tokens: TokenCounts;
      readonly terms?: ReportedTerms | null | undefined;
      /** The tier that served the answer, where only the report tells it; in the words of the chat and responses formats. */
      readonly serviceTier?: string | undefined;
      /** A report of the input, made before the output was known. */
      readonly partial?: boolean | undefined;
    }
  | {
      readonly type: 'finish';
      readonly reason: FinishReason;
      readonly raw: { readonly format: Format; readonly value: string };
      readonly stopSequence?: string | undefined;
      readonly explanation?: string | undefined;
    }
  /** The frame that says that nothing follows. */
  | { readonly type: 'end' }
  /** The provider's own report of an error, as it came. */
  | { readonly type: 'failure'; readonly error: Json };

/** The result of a format's `fromTurn`: the body to send, without model and output limit. */
export interface WrittenTurn {
  readonly body: Record<string, unknown>;
  readonly warnings: readonly string[];
  /** The body depends on the output limit (a thinking budget does): it is written again once that is known. */
  readonly usesOutputLimit?: boolean | undefined;
  /** The format has no JSON mode: the model is asked for a JSON object, and the gateway checks the answer. */
  readonly asksForJsonObject?: boolean | undefined;
}

/**
 * How a messages target is asked to think: with a budget of tokens; by effort, while it decides how much it thinks; or by
 * effort alone, because it always thinks.
 */
export type ThinkingStyle = 'budget' | 'adaptive' | 'always';

/** Which of temperature, `top_p` and `top_k` a messages target takes: all, temperature or `top_p`, or none. */
export type SamplingStyle = 'all' | 'one' | 'none';

/** The abilities and needs of the target, beyond its format. */
export interface TargetTraits {
  readonly outputLimit: number;
  /** Whether the model reasons; false leaves every reasoning setting out. */
  readonly reasoning: boolean;
  readonly thinking: ThinkingStyle;
  /** `all` by default. */
  readonly sampling?: SamplingStyle | undefined;
  /** Whether a responses target takes settings and cache breakpoints that its format has no field for. */
  readonly extended?: boolean | undefined;
}

export type EventReader = {
  /** One SSE event's data in, what it means out. Throws `GatewayError('upstream_error')` on what is not an event. */
  read(event: string | null, data: string): readonly TurnEvent[];
  /** The upstream closed cleanly: whatever is still open is ended; `end` only where the answer is complete. */
  finish(): readonly TurnEvent[];
};

export interface EventWriter {
  /** The bytes that the client gets at once for this event; empty where none. */
  write(event: TurnEvent): string;
  /** The terminal part; called once, after `end`. */
  terminal(): string;
  /** The next event has this sequence number; for formats whose events are numbered. */
  continueAt?(sequence: number): void;
  /** The position of the stream, for formats whose failure event must fit into the sequence. */
  position?(): StreamPosition;
}

/** The facts that a writer needs beside the events. */
export interface AnswerContext {
  readonly publicModel: string;
  readonly request: JsonObject;
  readonly nowS: () => number;
  /** The id for answers whose provider gave none, without a prefix. */
  readonly answerId: string;
  readonly includeUsage: boolean;
  /** The estimated input, for usage that must be shown before the provider reports it. */
  readonly likelyInputTokens: () => number;
  readonly outputLimit: number | null;
  /** Encrypted reasoning is not shown in the events of a response; only its last bytes have it. */
  readonly hidesEncrypted?: boolean | undefined;
  /** Usage that the provider has not reported is left out instead of guessed: what reads the answer charges by it. */
  readonly reportedUsageOnly?: boolean | undefined;
}
