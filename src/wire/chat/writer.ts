/** Events of the hub → chat-completion chunks. One per attempt. */
import type { TokenCounts } from '../../core/usage.ts';
import { compact, type JsonObject } from '../../lib/json.ts';
import { responsesAnnotation } from '../translate/annotations.ts';
import { answerId, dataFrame, paragraphOf } from '../translate/answer-writing.ts';
import type { Annotation, AnswerContext, EventWriter, ToolKind, TurnEvent } from '../translate/turn.ts';
import { writeChatTokens } from './tokens.ts';

/** The reason in the terms of the format; a refusal that was written as refusal text ends like any answer. */
export function chatFinishReason(event: Extract<TurnEvent, { type: 'finish' }>, refused: boolean): string {
  if (event.raw.format === 'chat' && event.raw.value !== '') return event.raw.value;
  switch (event.reason) {
    case 'length':
    case 'context':
      return 'length';
    case 'tool':
      return 'tool_calls';
    case 'content-filter':
      return 'content_filter';
    case 'refusal':
      return refused ? 'stop' : 'content_filter';
    default:
      return 'stop';
  }
}

/** Only citations of addresses have a place in the format. */
export function chatAnnotationOf(annotation: Annotation, span: { start: number; end: number }): JsonObject | null {
  const { type, ...rest } = responsesAnnotation(annotation, { ...span, text: '' });
  return type === 'url_citation' ? { type, url_citation: rest } : null;
}

export class ChatWriter implements EventWriter {
  readonly #context: AnswerContext;
  #id = '';
  #created = 0;
  #serviceTier: string | undefined;
  #tokens: TokenCounts | null = null;
  #refused = false;
  /** Characters of text written, and where the current block began. */
  #length = 0;
  #blockStart = 0;
  #itemId: string | undefined;
  #gap = '';
  #paragraph: string | null = null;
  readonly #calls = new Map<number, { index: number; kind: ToolKind }>();
  readonly #refusals = new Set<number>();

  constructor(context: AnswerContext) {
    this.#context = context;
  }

  write(event: TurnEvent): string {
    switch (event.type) {
      case 'start':
        this.#id = answerId(this.#context, event.id, 'chatcmpl-');
        this.#created = event.createdS ?? this.#context.nowS();
        this.#serviceTier = event.serviceTier;
        return this.#delta({ role: 'assistant', content: '' });
      case 'text-start':
        return this.#textStart(event);
      case 'text-delta':
        return this.#text(event);
      case 'annotation': {
        const annotation = chatAnnotationOf(event.annotation, { start: this.#blockStart, end: this.#length });
        return annotation ? this.#delta({ annotations: [annotation] }) : '';
      }
      case 'reasoning-delta':
        return this.#delta({ reasoning_content: this.#paragraphGap(event) + event.text });
      case 'tool-start': {
        const index = this.#calls.size;
        const { kind, name } = event.tool;
        this.#calls.set(event.key, { index, kind });
        const call = { index, id: event.callId, type: kind === 'custom' ? 'custom' : 'function' };
        const details = kind === 'custom' ? { custom: { name, input: '' } } : { function: { name, arguments: '' } };
        return this.#delta({ tool_calls: [{ ...call, ...details }] });
      }
      case 'tool-delta': {
        const call = this.#calls.get(event.key);
        if (!call) return '';
        const details =
          call.kind === 'custom' ? { custom: { input: event.text } } : { function: { arguments: event.text } };
        return this.#delta({ tool_calls: [{ index: call.index, ...details }] });
      }
      case 'usage':
        this.#tokens = event.tokens;
        return '';
      case 'finish':
        return this.#chunk([
          { index: 0, delta: {}, logprobs: null, finish_reason: chatFinishReason(event, this.#refused) },
        ]);
    }
    return '';
  }

  terminal(): string {
    const usage =
      this.#context.includeUsage && this.#tokens ? dataFrame(this.#object([], writeChatTokens(this.#tokens))) : '';
    return `${usage}data: [DONE]\n\n`;
  }

  #textStart(event: Extract<TurnEvent, { type: 'text-start' }>): string {
    if (event.kind === 'refusal') {
      this.#refused = true;
      this.#refusals.add(event.key);
      return '';
    }
    if (this.#length > 0 && event.itemId !== this.#itemId) this.#gap = '\n\n';
    this.#itemId = event.itemId;
    this.#blockStart = this.#length + this.#gap.length;
    return '';
  }

  #text(event: Extract<TurnEvent, { type: 'text-delta' }>): string {
    if (this.#refusals.has(event.key)) return this.#delta({ refusal: event.text });
    const text = this.#gap + event.text;
    this.#gap = '';
    this.#length += text.length;
    const logprobs = event.logprobs ? { content: event.logprobs, refusal: null } : null;
    return this.#delta({ content: text }, logprobs);
  }

  /** Paragraphs of reasoning are set apart as they are in a whole answer. */
  #paragraphGap(event: Extract<TurnEvent, { type: 'reasoning-delta' }>): string {
    const before = this.#paragraph;
    this.#paragraph = `${event.key}.${paragraphOf(event)}`;
    return before === null || before === this.#paragraph ? '' : '\n\n';
  }

  #delta(delta: object, logprobs: object | null = null): string {
    return this.#chunk([{ index: 0, delta, logprobs, finish_reason: null }]);
  }

  #chunk(choices: readonly object[]): string {
    return dataFrame(this.#object(choices, this.#context.includeUsage ? null : undefined));
  }

  #object(choices: readonly object[], usage: object | null | undefined): object {
    return compact({
      id: this.#id,
      object: 'chat.completion.chunk',
      created: this.#created,
      model: this.#context.publicModel,
      service_tier: this.#serviceTier,
      system_fingerprint: null,
      choices,
      usage,
    });
  }
}
