/** Chat-completion chunks → events of the hub. One per attempt. */
import {
  isObject,
  type Json,
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  parseJson,
  stringAt,
} from '../../lib/json.ts';
import { broken } from '../errors.ts';
import { partsAt } from '../translate/answer-parts.ts';
import type { EventReader, FinishReason, TurnEvent } from '../translate/turn.ts';
import { isErrorShape } from '../upstream-failure.ts';
import { type ChatPiece, readContent } from './read-content.ts';
import { readChatTerms, readChatTokens } from './tokens.ts';
import { callsOf, ToolCallReader } from './tool-call-reader.ts';

const FINISH: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool',
  function_call: 'tool',
  content_filter: 'content-filter',
};

export function finishOf(raw: string, called: boolean, refused: boolean): TurnEvent {
  const reason = FINISH[raw] ?? 'other';
  // Some servers end a call of tools with `stop`; a refusal has no reason of its own in this format.
  const meant = reason === 'stop' && called ? 'tool' : reason === 'stop' && refused ? 'refusal' : reason;
  return { type: 'finish', reason: meant, raw: { format: 'chat', value: raw } };
}

export function chatAnnotation(key: number, raw: JsonObject): TurnEvent {
  const type = stringAt(raw, 'type') ?? 'url_citation';
  return { type: 'annotation', key, annotation: { format: 'responses', raw: { type, ...objectAt(raw, type) } } };
}

type Block = { readonly kind: 'text' | 'refusal' | 'reasoning'; readonly key: number };

export class ChatReader implements EventReader {
  #started = false;
  #finished = false;
  #ended = false;
  #refused = false;
  /** Something of the answer has come. */
  #told = false;
  /** It has come in messages where deltas should be: each says what is new. */
  #onlyMessages = false;
  #nextKey = 0;
  #open: Block | null = null;
  readonly #calls = new ToolCallReader(() => this.#nextKey++);

  read(_event: string | null, data: string): readonly TurnEvent[] {
    if (data.trim() === '[DONE]') return this.#done();
    const chunk = parseJson(data);
    if (!isObject(chunk)) broken('a chunk is not a JSON object.');
    if (isErrorShape(chunk)) return [{ type: 'failure', error: chunk }];
    const events: TurnEvent[] = [];
    if (!this.#started) {
      if (!Array.isArray(chunk.choices)) broken('the first chunk has no choices.');
      this.#started = true;
      events.push({
        type: 'start',
        id: stringAt(chunk, 'id') ?? null,
        createdS: numberAt(chunk, 'created') ?? null,
        serviceTier: stringAt(chunk, 'service_tier'),
      });
    }
    for (const choice of objectsAt(chunk, 'choices')) this.#choice(choice, events);
    const tokens = readChatTokens(chunk.usage);
    if (tokens) events.push({ type: 'usage', tokens, terms: readChatTerms(chunk) });
    return events;
  }

  finish(): readonly TurnEvent[] {
    return this.#finished ? this.#done() : [];
  }

  #done(): readonly TurnEvent[] {
    if (this.#ended) return [];
    this.#ended = true;
    const events: TurnEvent[] = [];
    if (!this.#finished) this.#close('', events);
    // Some servers go on after the reason to finish.
    this.#leave(events);
    this.#calls.close(events);
    events.push({ type: 'end' });
    return events;
  }

  #choice(choice: JsonObject, events: TurnEvent[]): void {
    if ((numberAt(choice, 'index') ?? 0) !== 0) return;
    const before = events.length;
    const delta = this.#deltaOf(choice);
    const logprobs = typeof delta.content === 'string' ? readLogprobs(choice) : undefined;
    const pieces = readContent(delta);
    for (const piece of pieces) this.#piece(piece, logprobs, events);
    const text = stringAt(choice, 'text') ?? '';
    if (text !== '' && !pieces.some((piece) => piece.text === text)) {
      this.#piece({ kind: 'text', text }, undefined, events);
    }
    for (const raw of partsAt(delta, 'annotations')) {
      events.push(chatAnnotation(this.#enter('text', events), raw));
    }
    const calls = callsOf(delta);
    if (calls.length > 0) this.#leave(events);
    for (const call of calls) this.#calls.read(call, events);
    this.#told ||= events.length > before;
    const raw = stringAt(choice, 'finish_reason');
    if (raw !== undefined && !this.#finished) this.#close(raw, events);
  }

  /**
   * What a choice says now. Some servers have a message where the delta should be; in others it repeats at the end what the
   * deltas have told.
   */
  #deltaOf({ delta, message }: JsonObject): JsonObject {
    const own = asMessage(delta);
    const whole = asMessage(message);
    if (whole === undefined || (own !== undefined && Object.keys(own).length > 0)) return own ?? {};
    if (this.#told && !this.#onlyMessages) return {};
    this.#onlyMessages = own === undefined;
    return whole;
  }

  #piece({ kind, text }: ChatPiece, logprobs: readonly Json[] | undefined, events: TurnEvent[]): void {
    if (kind === 'unread') {
      events.push({ type: 'unread', text });
    } else if (kind === 'reasoning') {
      events.push({ type: 'reasoning-delta', key: this.#enter(kind, events), text, paragraph: 0 });
    } else {
      this.#refused ||= kind === 'refusal';
      const key = this.#enter(kind, events);
      events.push({ type: 'text-delta', key, text, logprobs: kind === 'text' ? logprobs : undefined });
    }
  }

  #close(raw: string, events: TurnEvent[]): void {
    this.#finished = true;
    this.#leave(events);
    this.#calls.close(events);
    events.push(finishOf(raw, this.#calls.any, this.#refused));
  }

  #enter(kind: Block['kind'], events: TurnEvent[]): number {
    if (this.#open?.kind === kind) return this.#open.key;
    this.#leave(events);
    this.#calls.settle(events);
    const key = this.#nextKey++;
    this.#open = { kind, key };
    if (kind === 'reasoning') events.push({ type: 'reasoning-start', key, origin: 'chat' });
    else events.push({ type: 'text-start', key, kind });
    return key;
  }

  #leave(events: TurnEvent[]): void {
    if (!this.#open) return;
    const { kind, key } = this.#open;
    events.push(kind === 'reasoning' ? { type: 'reasoning-end', key } : { type: 'text-end', key });
    this.#open = null;
  }
}

/** Text alone is the content. */
function asMessage(value: Json | undefined): JsonObject | undefined {
  if (typeof value === 'string') return { content: value };
  return isObject(value) ? value : undefined;
}

export function readLogprobs(choice: JsonObject): readonly Json[] | undefined {
  const logprobs = objectAt(choice, 'logprobs');
  const content = logprobs?.content;
  return Array.isArray(content) ? content : undefined;
}
