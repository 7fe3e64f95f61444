/** Events of the hub → response stream events, the full sequence of them. One per attempt. */
import type { TokenCounts } from '../../core/usage.ts';
import { isObject, type JsonObject } from '../../lib/json.ts';
import type { StreamPosition } from '../lane.ts';
import { answerId, bareId, eventFrame, placeholderUsage } from '../translate/answer-writing.ts';
import type { AnswerContext, EventWriter, TurnEvent } from '../translate/turn.ts';
import { withoutEncrypted, withoutEncryptedOutput } from './answer-state.ts';
import { MessageItem, OpaqueItem, type OutputItem, ReasoningItem, ToolItem } from './item-writer.ts';
import { responseEnding, responseObject } from './object.ts';

type Emit = (type: string, fields: object) => void;

export class ResponsesWriter implements EventWriter {
  readonly #context: AnswerContext;
  readonly #items: OutputItem[] = [];
  /** The item that each open block belongs to. */
  readonly #byKey = new Map<number, OutputItem>();
  #message: MessageItem | null = null;
  #id = '';
  #bare = '';
  #createdS = 0;
  #sequence = 0;
  #serviceTier: string | undefined;
  #tokens: TokenCounts | null = null;
  #finish: Extract<TurnEvent, { type: 'finish' }> | null = null;
  #characters = 0;
  #out = '';
  readonly #emit: Emit = (type, fields) => {
    this.#out += eventFrame(type, { type, sequence_number: this.#sequence++, ...fields });
  };

  readonly #emitReasoning: Emit;

  constructor(context: AnswerContext) {
    this.#context = context;
    this.#emitReasoning = context.hidesEncrypted === true ? hiding(this.#emit) : this.#emit;
  }

  position(): StreamPosition {
    return { nextSequence: this.#sequence, response: () => this.#shown() };
  }

  continueAt(sequence: number): void {
    this.#sequence = sequence;
  }

  write(event: TurnEvent): string {
    this.#out = '';
    this.#take(event);
    return this.#out;
  }

  terminal(): string {
    this.#out = '';
    const { status } = responseEnding(this.#finish, this.#refused);
    this.#emit(`response.${status}`, { response: this.response() });
    return this.#out;
  }

  /** The object as it is after everything written so far. */
  response(): JsonObject {
    const { status, reason } = responseEnding(this.#finish, this.#refused);
    const finished = this.#finish !== null;
    return responseObject(this.#context, {
      id: this.#id,
      createdS: this.#createdS,
      completedS: finished && status === 'completed' ? this.#context.nowS() : null,
      status: finished ? status : 'in_progress',
      incompleteReason: finished ? reason : null,
      output: this.#items.map((item) => item.object()),
      tokens: finished ? (this.#tokens ?? this.#guessed) : null,
      serviceTier: this.#serviceTier,
    });
  }

  /** The object as a failure event repeats it. What a complete answer hides is taken out of its last bytes elsewhere. */
  #shown(): JsonObject {
    const response = this.response();
    return this.#context.hidesEncrypted === true ? withoutEncryptedOutput(response) : response;
  }

  get #guessed(): TokenCounts | null {
    return this.#context.reportedUsageOnly ? null : placeholderUsage(this.#context, this.#characters);
  }

  get #refused(): boolean {
    return this.#items.some((item) => item instanceof MessageItem && item.refused);
  }

  #take(event: TurnEvent): void {
    switch (event.type) {
      case 'start':
        this.#start(event);
        return;
      case 'text-start':
        this.#textStart(event);
        return;
      case 'reasoning-start':
        this.#add(
          event.key,
          (index) => new ReasoningItem(event, event.id ?? this.#itemId('rs', index), index, this.#emitReasoning),
        );
        return;
      case 'tool-start':
        this.#add(event.key, (index) => new ToolItem(event, this.#toolItemId(event, index), index, this.#emit));
        return;
      case 'opaque':
        if (event.format === 'responses') this.#add(-1, (index) => new OpaqueItem(event.raw, index, this.#emit));
        return;
      case 'usage':
        this.#tokens = event.tokens;
        this.#serviceTier = event.serviceTier ?? this.#serviceTier;
        return;
      case 'finish':
        this.#finish = event;
        this.#closeMessage();
        return;
      case 'end':
        this.#closeMessage();
        return;
      case 'failure':
      case 'unread':
        return;
    }
    if ('text' in event) this.#characters += event.text.length;
    this.#byKey.get(event.key)?.take(event);
  }

  #start(event: Extract<TurnEvent, { type: 'start' }>): void {
    this.#bare = bareId(this.#context, event.id);
    this.#id = answerId(this.#context, event.id, 'resp_');
    this.#createdS = event.createdS ?? this.#context.nowS();
    this.#serviceTier = event.serviceTier;
    const response = this.response();
    this.#emit('response.created', { response });
    this.#emit('response.in_progress', { response });
  }

  /** Texts that follow each other are parts of one message, unless the provider made them items of their own. */
  #textStart(event: Extract<TurnEvent, { type: 'text-start' }>): void {
    if (!this.#message || this.#message.sourceId !== event.itemId) {
      this.#closeMessage();
      const index = this.#items.length;
      const id = event.itemId ?? this.#itemId('msg', index);
      this.#message = new MessageItem(id, event.itemId, index, this.#emit);
      this.#items.push(this.#message);
    }
    this.#byKey.set(event.key, this.#message);
    this.#message.take(event);
  }

  #add(key: number, make: (index: number) => OutputItem): void {
    this.#closeMessage();
    const item = make(this.#items.length);
    this.#items.push(item);
    if (key >= 0) this.#byKey.set(key, item);
  }

  #closeMessage(): void {
    const cut = this.#finish !== null && responseEnding(this.#finish, this.#refused).status === 'incomplete';
    this.#message?.close(cut ? 'incomplete' : 'completed');
    this.#message = null;
  }

  #itemId(prefix: string, index: number): string {
    return `${prefix}_${this.#bare}_${index}`;
  }

  #toolItemId(event: Extract<TurnEvent, { type: 'tool-start' }>, index: number): string {
    const prefix = event.tool.kind === 'custom' ? 'ctc' : event.tool.kind === 'search' ? 'tsc' : 'fc';
    return event.itemId ?? this.#itemId(prefix, index);
  }
}

/** Items are emitted as a client sees them that did not ask for encrypted reasoning. */
function hiding(emit: Emit): Emit {
  return (type, fields) =>
    emit(type, 'item' in fields && isObject(fields.item) ? { ...fields, item: withoutEncrypted(fields.item) } : fields);
}
