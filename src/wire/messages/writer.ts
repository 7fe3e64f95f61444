/** Events of the hub → message stream events. One per attempt. */
import type { TokenCounts } from '../../core/usage.ts';
import { messagesCitation } from '../translate/annotations.ts';
import { answerId, eventFrame, paragraphOf, placeholderUsage } from '../translate/answer-writing.ts';
import { ReasoningDraft } from '../translate/collect-answer.ts';
import type { AnswerContext, EventWriter, TurnEvent } from '../translate/turn.ts';
import { signatureOf } from './signature.ts';
import { writeMessagesTokens } from './tokens.ts';

type Finish = Extract<TurnEvent, { type: 'finish' }>;

function messagesStopReason(finish: Finish | null): string {
  if (finish?.raw.format === 'messages' && finish.raw.value !== '') return finish.raw.value;
  switch (finish?.reason) {
    case 'stop-sequence':
      return 'stop_sequence';
    case 'length':
      return 'max_tokens';
    case 'context':
      return 'model_context_window_exceeded';
    case 'tool':
      return 'tool_use';
    case 'refusal':
    case 'content-filter':
      return 'refusal';
    case 'pause':
      return 'pause_turn';
    default:
      return 'end_turn';
  }
}

/** How the answer ended, as both the whole message and `message_delta` say it. */
export function messagesEnding(finish: Finish | null): object {
  const reason = messagesStopReason(finish);
  const explanation = finish?.explanation ?? null;
  return {
    stop_reason: reason,
    stop_sequence: reason === 'stop_sequence' ? (finish?.stopSequence ?? null) : null,
    stop_details: reason === 'refusal' ? { type: 'refusal', category: null, explanation } : null,
  };
}

const THINKING = { type: 'thinking', thinking: '', signature: '' };

interface Block {
  /** Null until the block has something to show. */
  index: number | null;
  /** The part of the block that `content_block_start` shows. */
  readonly content: object;
  text: string;
  readonly reasoning: ReasoningDraft | null;
  paragraph: string;
}

export class MessagesWriter implements EventWriter {
  readonly #context: AnswerContext;
  readonly #blocks = new Map<number, Block>();
  /** The call that was begun last, while nothing has followed it. */
  #call: Block | null = null;
  #nextIndex = 0;
  #characters = 0;
  #tokens: TokenCounts | null = null;
  #finish: Finish | null = null;

  constructor(context: AnswerContext) {
    this.#context = context;
  }

  write(event: TurnEvent): string {
    switch (event.type) {
      case 'start':
        return this.#opening(event.id);
      case 'usage':
        this.#tokens = event.tokens;
        return '';
      case 'finish':
        this.#finish = event;
        return '';
      case 'end':
        return this.#messageDelta();
    }
    return this.#content(event);
  }

  terminal(): string {
    return eventFrame('message_stop', { type: 'message_stop' });
  }

  #opening(id: string | null): string {
    const tokens = this.#tokens ?? placeholderUsage(this.#context, 0);
    const message = {
      id: answerId(this.#context, id, 'msg_'),
      type: 'message',
      role: 'assistant',
      model: this.#context.publicModel,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      container: null,
      usage: writeMessagesTokens(tokens),
    };
    return eventFrame('message_start', { type: 'message_start', message });
  }

  #content(event: TurnEvent): string {
    switch (event.type) {
      case 'text-start':
        return this.#announce(event.key, { type: 'text', text: '', citations: null }, null);
      case 'text-delta':
        return this.#delta(event.key, event.text, (text) => ({ type: 'text_delta', text }));
      case 'annotation':
        return this.#annotation(event);
      case 'reasoning-start':
        return this.#announce(event.key, THINKING, new ReasoningDraft(event));
      case 'reasoning-delta':
        return this.#reasoning(event);
      case 'reasoning-end':
        return this.#reasoningEnd(event);
      case 'tool-start': {
        const { key, callId, tool } = event;
        const before = this.#announce(key, { type: 'tool_use', id: callId, name: tool.name, input: {} }, null);
        this.#call = this.#blocks.get(key) ?? null;
        return before;
      }
      case 'tool-delta':
        return this.#delta(event.key, event.text, (text) => ({ type: 'input_json_delta', partial_json: text }));
      case 'text-end':
      case 'tool-end':
        return this.#stop(event.key);
      case 'opaque': {
        if (event.format !== 'messages') return '';
        const index = this.#nextIndex++;
        const begin = eventFrame('content_block_start', {
          type: 'content_block_start',
          index,
          content_block: event.raw,
        });
        return begin + eventFrame('content_block_stop', { type: 'content_block_stop', index });
      }
    }
    return '';
  }

  /**
   * A block that shows nothing is not written. A call without arguments is, once another block follows: before that it may
   * have been cut off.
   */
  #announce(key: number, content: object, reasoning: ReasoningDraft | null): string {
    const block = { index: null, content, text: '', reasoning, paragraph: '' };
    const before = this.#call?.index === null ? this.#open(this.#call) : '';
    this.#blocks.set(key, block);
    this.#call = null;
    return before;
  }

  #open(block: Block, content = block.content): string {
    const index = this.#nextIndex++;
    block.index = index;
    return eventFrame('content_block_start', { type: 'content_block_start', index, content_block: content });
  }

  #delta(key: number, text: string, delta: (text: string) => object): string {
    const block = this.#blocks.get(key);
    if (!block || text === '') return '';
    block.text += text;
    this.#characters += text.length;
    const opening = block.index === null ? this.#open(block) : '';
    return opening + this.#frame(block, delta(text));
  }

  #frame(block: Block, delta: object): string {
    return eventFrame('content_block_delta', { type: 'content_block_delta', index: block.index ?? 0, delta });
  }

  #annotation(event: Extract<TurnEvent, { type: 'annotation' }>): string {
    const block = this.#blocks.get(event.key);
    if (!block || block.index === null) return '';
    const citation = messagesCitation(event.annotation, { start: 0, end: block.text.length, text: block.text });
    return this.#frame(block, { type: 'citations_delta', citation });
  }

  #reasoning(event: Extract<TurnEvent, { type: 'reasoning-delta' }>): string {
    const block = this.#blocks.get(event.key);
    if (!block?.reasoning) return '';
    block.reasoning.add(event);
    const paragraph = paragraphOf(event);
    const gap = block.index !== null && block.paragraph !== paragraph ? '\n\n' : '';
    block.paragraph = paragraph;
    return this.#delta(event.key, gap + event.text, (thinking) => ({ type: 'thinking_delta', thinking }));
  }

  /** Reasoning that shows nothing but must be sent back is a redacted block. */
  #reasoningEnd(event: Extract<TurnEvent, { type: 'reasoning-end' }>): string {
    const block = this.#blocks.get(event.key);
    if (!block?.reasoning) return '';
    const reasoning = block.reasoning.end(event);
    if (block.index !== null) {
      return this.#frame(block, { type: 'signature_delta', signature: signatureOf(reasoning) }) + this.#stop(event.key);
    }
    if (reasoning.redacted === undefined && reasoning.encrypted === undefined && reasoning.signature === undefined)
      return '';
    if (reasoning.origin === 'messages' && reasoning.redacted === undefined) {
      const opening = this.#open(block);
      const signature = this.#frame(block, { type: 'signature_delta', signature: signatureOf(reasoning) });
      return opening + signature + this.#stop(event.key);
    }
    const data = reasoning.redacted ?? signatureOf(reasoning);
    return this.#open(block, { type: 'redacted_thinking', data }) + this.#stop(event.key);
  }

  #stop(key: number): string {
    const block = this.#blocks.get(key);
    this.#blocks.delete(key);
    if (!block || block.index === null) return '';
    return eventFrame('content_block_stop', { type: 'content_block_stop', index: block.index });
  }

  #messageDelta(): string {
    const tokens = this.#tokens ?? placeholderUsage(this.#context, this.#characters);
    const delta = { ...messagesEnding(this.#finish), container: null };
    return eventFrame('message_delta', { type: 'message_delta', delta, usage: writeMessagesTokens(tokens) });
  }
}
