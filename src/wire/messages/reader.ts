/** Message stream events → events of the hub. One per attempt. */
import { isObject, type JsonObject, numberAt, objectAt, parseJson, stringAt } from '../../lib/json.ts';
import { broken } from '../errors.ts';
import { checkNextPart } from '../translate/answer-parts.ts';
import type { EventReader, FinishReason, TurnEvent } from '../translate/turn.ts';
import { unread } from '../translate/unread.ts';
import { isErrorShape } from '../upstream-failure.ts';
import { readMessagesTerms, readMessagesTokens } from './tokens.ts';

const FINISH: Readonly<Record<string, FinishReason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop-sequence',
  max_tokens: 'length',
  model_context_window_exceeded: 'context',
  tool_use: 'tool',
  refusal: 'refusal',
  pause_turn: 'pause',
};

export type Finish = Extract<TurnEvent, { type: 'finish' }>;

export function messagesFinish(value: JsonObject): Finish | null {
  const raw = stringAt(value, 'stop_reason');
  if (raw === undefined) return null;
  return {
    type: 'finish',
    reason: FINISH[raw] ?? 'other',
    raw: { format: 'messages', value: raw },
    stopSequence: stringAt(value, 'stop_sequence'),
    explanation: stringAt(objectAt(value, 'stop_details') ?? {}, 'explanation'),
  };
}

interface Block {
  readonly key: number;
  readonly raw: JsonObject;
  readonly kind: 'text' | 'reasoning' | 'tool' | 'opaque';
  input: string;
  signature: string;
}

export class MessagesReader implements EventReader {
  readonly #blocks = new Map<number, Block>();
  #nextKey = 0;
  /** The figures so far: a later event may repeat only some of them. */
  #reported: JsonObject = {};
  #finished = false;
  #ended = false;

  read(event: string | null, data: string): readonly TurnEvent[] {
    const value = parseJson(data);
    if (!isObject(value)) broken('an event is not a JSON object.');
    if (isErrorShape(value)) return [{ type: 'failure', error: value }];
    const type = stringAt(value, 'type') ?? event;
    switch (type) {
      case 'ping':
        return [];
      case 'message_start':
        return this.#start(value);
      case 'content_block_start':
        return this.#blockStart(value);
      case 'content_block_delta':
        return this.#blockDelta(value);
      case 'content_block_stop':
        return this.#blockStop(numberAt(value, 'index') ?? -1);
      case 'message_delta':
        return this.#messageDelta(value);
      case 'message_stop':
        return this.#end();
      case 'error':
        return [{ type: 'failure', error: value }];
    }
    return unread(value);
  }

  finish(): readonly TurnEvent[] {
    return this.#finished ? this.#end() : [];
  }

  #start(value: JsonObject): readonly TurnEvent[] {
    const message = objectAt(value, 'message') ?? {};
    // Usage first: a writer that opens with it must know it by then.
    const events: TurnEvent[] = [];
    this.#usage(message, true, events);
    events.push({ type: 'start', id: stringAt(message, 'id') ?? null, createdS: null }, ...unread(message.content));
    return events;
  }

  /** The output of a report is only to be trusted with the reason to finish; before it, the report is `partial`. */
  #usage(value: JsonObject, partial: boolean, events: TurnEvent[]): void {
    const reported = Object.entries(objectAt(value, 'usage') ?? {}).filter(([, figure]) => figure !== null);
    if (reported.length === 0) return;
    this.#reported = { ...this.#reported, ...Object.fromEntries(reported) };
    const tokens = readMessagesTokens(this.#reported);
    const terms = readMessagesTerms(this.#reported);
    if (tokens) events.push(partial ? { type: 'usage', tokens, terms, partial } : { type: 'usage', tokens, terms });
  }

  #blockStart(value: JsonObject): readonly TurnEvent[] {
    const index = numberAt(value, 'index') ?? this.#blocks.size;
    const raw = objectAt(value, 'content_block');
    if (!raw) broken('a content block has no content.');
    checkNextPart(this.#nextKey);
    const key = this.#nextKey++;
    const type = stringAt(raw, 'type');
    const block = (kind: Block['kind']): void => {
      this.#blocks.set(index, { key, raw, kind, input: '', signature: stringAt(raw, 'signature') ?? '' });
    };
    if (type === 'text') {
      block('text');
      const events: TurnEvent[] = [{ type: 'text-start', key, kind: 'text' }];
      const text = stringAt(raw, 'text');
      if (text) events.push({ type: 'text-delta', key, text });
      return events;
    }
    if (type === 'thinking' || type === 'redacted_thinking') {
      block('reasoning');
      const events: TurnEvent[] = [{ type: 'reasoning-start', key, origin: 'messages' }];
      const text = stringAt(raw, 'thinking');
      if (text) events.push({ type: 'reasoning-delta', key, text, paragraph: 0 });
      return events;
    }
    if (type === 'tool_use') {
      block('tool');
      const tool = { kind: 'function', name: stringAt(raw, 'name') ?? '' } as const;
      return [{ type: 'tool-start', key, callId: stringAt(raw, 'id') ?? `toolu_${key}`, tool }];
    }
    block('opaque');
    return unread({ ...raw, input: undefined });
  }

  #blockDelta(value: JsonObject): readonly TurnEvent[] {
    const block = this.#blocks.get(numberAt(value, 'index') ?? -1);
    const delta = objectAt(value, 'delta');
    if (!block || !delta) broken('a delta belongs to no content block.');
    const { key } = block;
    const text = stringAt(delta, 'text');
    const thinking = stringAt(delta, 'thinking');
    const partial = stringAt(delta, 'partial_json');
    const citation = objectAt(delta, 'citation');
    block.signature += stringAt(delta, 'signature') ?? '';
    if (text) return [{ type: 'text-delta', key, text }];
    if (thinking) return [{ type: 'reasoning-delta', key, text: thinking, paragraph: 0 }];
    if (citation) return [{ type: 'annotation', key, annotation: { format: 'messages', raw: citation } }];
    if (!partial) return unread(delta);
    block.input += partial;
    return block.kind === 'tool' ? [{ type: 'tool-delta', key, text: partial }] : unread(partial);
  }

  #blockStop(index: number): readonly TurnEvent[] {
    const block = this.#blocks.get(index);
    if (!block) broken('a content block ended that had not started.');
    this.#blocks.delete(index);
    const { key } = block;
    switch (block.kind) {
      case 'text':
        return [{ type: 'text-end', key }];
      case 'reasoning':
        return [reasoningEnd(key, block.signature, stringAt(block.raw, 'data'))];
      case 'tool': {
        const text = startedInput(block);
        const events: TurnEvent[] = text === '' ? [] : [{ type: 'tool-delta', key, text }];
        return [...events, { type: 'tool-end', key }];
      }
      case 'opaque': {
        const input = block.input === '' ? undefined : parseJson(block.input);
        const raw = input === undefined ? block.raw : { ...block.raw, input };
        return [...unread(startedInput(block)), { type: 'opaque', format: 'messages', raw }];
      }
    }
  }

  #messageDelta(value: JsonObject): readonly TurnEvent[] {
    const events: TurnEvent[] = [];
    const finish = messagesFinish(objectAt(value, 'delta') ?? {});
    if (finish && !this.#finished) {
      this.#finished = true;
      for (const index of [...this.#blocks.keys()]) events.push(...this.#blockStop(index));
      events.push(finish);
    }
    this.#usage(value, !this.#finished, events);
    return events;
  }

  #end(): readonly TurnEvent[] {
    if (this.#ended) return [];
    this.#ended = true;
    const finish: TurnEvent = { type: 'finish', reason: 'other', raw: { format: 'messages', value: '' } };
    return this.#finished ? [{ type: 'end' }] : [finish, { type: 'end' }];
  }
}

/** Some servers give the whole input with the start of the block; empty where it came in deltas. */
function startedInput({ raw, input }: Block): string {
  const given = objectAt(raw, 'input');
  return input === '' && given && Object.keys(given).length > 0 ? JSON.stringify(given) : '';
}

export function reasoningEnd(key: number, signature: string, redacted: string | undefined): TurnEvent {
  return { type: 'reasoning-end', key, signature: signature === '' ? undefined : signature, redacted };
}
