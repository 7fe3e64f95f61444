/** The lane between two formats: the hub in the middle, the client's format on one side, the target's on the other. */
import { randomUUID } from 'node:crypto';
import { GatewayError } from '../core/conditions.ts';
import type { Format } from '../core/endpoints.ts';
import type { TokenCounts } from '../core/usage.ts';
import { chatFromTurn } from './chat/from-turn.ts';
import { readChatBody } from './chat/read-body.ts';
import { ChatReader } from './chat/reader.ts';
import { chatToTurn } from './chat/to-turn.ts';
import { writeChatBody } from './chat/write-body.ts';
import { ChatWriter } from './chat/writer.ts';
import type { Json, JsonObject } from './json.ts';
import type { Lane, LaneFailure, LaneStep, LaneStream, Meter, StreamPlace, UpstreamOrder } from './lane.ts';
import { messagesFromTurn } from './messages/from-turn.ts';
import { readMessagesBody } from './messages/read-body.ts';
import { MessagesReader } from './messages/reader.ts';
import { messagesToTurn } from './messages/to-turn.ts';
import { writeMessagesBody } from './messages/write-body.ts';
import { MessagesWriter } from './messages/writer.ts';
import { eventName, saneCounts } from './observer.ts';
import { parseJson } from './read.ts';
import { broken } from './refuse.ts';
import { responsesFromTurn } from './responses/from-turn.ts';
import { readResponsesBody } from './responses/read-body.ts';
import { ResponsesReader } from './responses/reader.ts';
import { responsesToTurn } from './responses/to-turn.ts';
import { writeResponsesBody } from './responses/write-body.ts';
import { ResponsesWriter } from './responses/writer.ts';
import { Restorer } from './restore.ts';
import { FrameSplitter, joinedData } from './sse.ts';
import { type ToolNames, toolNames } from './tool-names.ts';
import type { AnswerContext, EventReader, EventWriter, TargetTraits, Turn, TurnEvent, WrittenTurn } from './turn.ts';
import { brokenStream, readFailure } from './upstream-failure.ts';

/** What one format knows of the hub. */
export interface HubFormat {
  toTurn(body: JsonObject): Turn;
  fromTurn(turn: Turn, traits: TargetTraits, names: ToolNames): WrittenTurn;
  reader(): EventReader;
  writer(context: AnswerContext): EventWriter;
  readBody(body: Json): readonly TurnEvent[];
  writeBody(events: readonly TurnEvent[], context: AnswerContext): object;
}

export const HUB_FORMATS: Readonly<Record<Format, HubFormat>> = {
  chat: {
    toTurn: chatToTurn,
    fromTurn: chatFromTurn,
    reader: () => new ChatReader(),
    writer: (context) => new ChatWriter(context),
    readBody: readChatBody,
    writeBody: writeChatBody,
  },
  responses: {
    toTurn: responsesToTurn,
    fromTurn: responsesFromTurn,
    reader: () => new ResponsesReader(),
    writer: (context) => new ResponsesWriter(context),
    readBody: readResponsesBody,
    writeBody: writeResponsesBody,
  },
  messages: {
    toTurn: messagesToTurn,
    fromTurn: messagesFromTurn,
    reader: () => new MessagesReader(),
    writer: (context) => new MessagesWriter(context),
    readBody: readMessagesBody,
    writeBody: writeMessagesBody,
  },
};

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
  readonly nowS?: (() => number) | undefined;
  /** The id for answers whose provider gives none. */
  readonly answerId?: string | undefined;
}

export interface TranslateLane extends Lane {
  readonly kind: 'translate';
  /** What was left out of the request, for the operator's log. */
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
      const restorer = new Restorer(order.names, from);
      const events: TurnEvent[] = [];
      for (const event of target.readBody(parsed)) {
        if (event.type === 'failure') throw asError(readFailure(event.error, true));
        meter.take(event);
        events.push(...restorer.restore(event));
      }
      return { body: Buffer.from(JSON.stringify(client.writeBody(events, context()))), meter: meter.read() };
    },
    stream: () =>
      new TranslateStream(
        target.reader(),
        client.writer(context()),
        new Restorer(order.names, from),
        new TurnMeter(to),
      ),
  };
}

function asError(failure: LaneFailure): GatewayError {
  return new GatewayError(failure.condition, { message: failure.message });
}

interface Order {
  readonly names: ToolNames;
  readonly includeUsage: boolean;
  readonly warnings: readonly string[];
  body(upstream: UpstreamOrder): object;
}

function translatedOrder(request: TranslateRequest): Order {
  const { from, to } = request;
  const turn = HUB_FORMATS[from].toTurn(request.body);
  const names = toolNames(turn, to);
  const write = (outputLimit: number): WrittenTurn => {
    const traits = { outputLimit, reasoning: request.reasoning ?? true, thinking: request.thinking ?? 'budget' };
    return HUB_FORMATS[to].fromTurn(turn, traits, names);
  };
  const written = write(OUTPUT_LIMIT_UNKNOWN);
  // Only a thinking budget depends on the output limit.
  const depends = to === 'messages' && turn.settings.reasoning !== undefined;
  return {
    names,
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

class TurnMeter {
  readonly #target: Format;
  #reported: TokenCounts | null = null;
  #final = false;
  #finished = false;
  #outputBytes = 0;

  constructor(target: Format) {
    this.#target = target;
  }

  take(event: TurnEvent): void {
    switch (event.type) {
      case 'text-delta':
      case 'reasoning-delta':
      case 'tool-delta':
        this.#outputBytes += Buffer.byteLength(event.text);
        return;
      case 'usage':
        this.#reported = saneCounts(event.tokens);
        // A messages stream reports its input at the start and its output only with the reason to finish.
        this.#final = this.#reported !== null && (this.#finished || this.#target !== 'messages');
        return;
      case 'finish':
        this.#finished = true;
    }
  }

  read(): Meter {
    return { reported: this.#reported, reportedFinal: this.#final, outputBytes: this.#outputBytes };
  }
}

/** A frame that has not ended by then is no event. */
const FRAME_BYTES_MAX = 16 * 1024 * 1024;

class TranslateStream implements LaneStream {
  readonly #reader: EventReader;
  readonly #writer: EventWriter;
  readonly #restorer: Restorer;
  readonly #meter: TurnMeter;
  readonly #splitter = new FrameSplitter();
  #state: LaneStep['state'] = 'waiting';
  #failure: LaneFailure | null = null;
  #started = false;
  #out = '';

  constructor(reader: EventReader, writer: EventWriter, restorer: Restorer, meter: TurnMeter) {
    this.#reader = reader;
    this.#writer = writer;
    this.#restorer = restorer;
    this.#meter = meter;
  }

  push(chunk: Buffer): LaneStep {
    return this.#step(() => {
      this.#splitter.feed(chunk);
      this.#drain();
      if (this.#splitter.partialLength > FRAME_BYTES_MAX) broken('an event is too large.');
    });
  }

  end(): LaneStep {
    return this.#step(() => {
      this.#splitter.close();
      this.#drain();
      if (this.#open) this.#takeAll(this.#reader.finish());
      if (this.#open) this.#fail(brokenStream('The provider ended the stream before the answer was complete.'));
    });
  }

  terminal(): Buffer {
    return Buffer.from(this.#writer.terminal());
  }

  meter(): Meter {
    return this.#meter.read();
  }

  cutShort(tokens: TokenCounts): LaneStep {
    return this.#step(() => {
      // Whatever block is open is ended; the reader knows nothing of a finish, so it ends nothing else.
      for (const event of this.#reader.finish()) if (event.type.endsWith('-end')) this.#write(event);
      this.#write({ type: 'finish', reason: 'length', raw: { format: 'chat', value: 'length' } });
      this.#write({ type: 'usage', tokens });
      this.#write({ type: 'end' });
    });
  }

  place(): StreamPlace {
    const writer = this.#writer;
    return writer instanceof ResponsesWriter ? writer.place : { responseId: null, createdAtS: null, nextSequence: 0 };
  }

  get #open(): boolean {
    return this.#state === 'waiting' || this.#state === 'open';
  }

  #step(work: () => void): LaneStep {
    this.#out = '';
    if (this.#open) {
      try {
        work();
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        this.#fail({ condition: error.condition, message: error.message });
      }
    }
    const forward = this.#out === '' ? null : Buffer.from(this.#out);
    return { forward, state: this.#state, failure: this.#failure };
  }

  #drain(): void {
    const splitter = this.#splitter;
    while (this.#open && splitter.next()) {
      if (splitter.dataLines === 0) continue;
      const data =
        splitter.dataLines === 1
          ? splitter.bytes.toString('utf8', splitter.dataStart, splitter.dataEnd)
          : joinedData(splitter);
      if (data.trim() === '') continue;
      this.#takeAll(this.#reader.read(eventName(splitter) || null, data));
    }
  }

  #takeAll(events: readonly TurnEvent[]): void {
    for (const event of events) {
      if (!this.#open) return;
      if (event.type === 'failure') {
        this.#fail(readFailure(event.error, this.#state === 'waiting'));
        return;
      }
      this.#meter.take(event);
      for (const restored of this.#restorer.restore(event)) this.#write(restored);
    }
  }

  #write(event: TurnEvent): void {
    if (event.type === 'start' ? this.#started : !this.#started && event.type !== 'usage') {
      // A server that begins twice is heard once, and one that does not begin at all is begun for.
      if (event.type === 'start') return;
      this.#write({ type: 'start', id: null, createdS: null });
    }
    if (event.type === 'start') this.#started = true;
    this.#out += this.#writer.write(event);
    this.#state = event.type === 'end' ? 'complete' : 'open';
  }

  #fail(failure: LaneFailure): void {
    this.#state = 'failed';
    this.#failure = failure;
  }
}
