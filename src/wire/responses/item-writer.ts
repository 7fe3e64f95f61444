/** Output items of a response as they are streamed, and their events. */

import { compact, type Json, type JsonObject, parseJson } from '../../lib/json.ts';
import { responsesAnnotation } from '../translate/annotations.ts';
import { ReasoningDraft } from '../translate/collect-answer.ts';
import { packReasoning } from '../translate/packed-reasoning.ts';
import type { ReasoningBlock, ToolRef, TurnEvent } from '../translate/turn.ts';

type Emit = (type: string, fields: object) => void;

export interface OutputItem {
  take(event: TurnEvent): void;
  object(): object;
}

type TextContent =
  | {
      readonly type: 'output_text';
      readonly text: string;
      readonly annotations: JsonObject[];
      readonly logprobs: Json[];
    }
  | { readonly type: 'refusal'; readonly refusal: string };

interface TextPart {
  readonly kind: 'text' | 'refusal';
  text: string;
  readonly annotations: JsonObject[];
  readonly logprobs: Json[];
}

function contentOf(part: TextPart): TextContent {
  if (part.kind === 'refusal') return { type: 'refusal', refusal: part.text };
  return { type: 'output_text', text: part.text, annotations: [...part.annotations], logprobs: [...part.logprobs] };
}

export class MessageItem implements OutputItem {
  readonly sourceId: string | undefined;
  readonly #id: string;
  readonly #index: number;
  readonly #emit: Emit;
  readonly #parts: TextPart[] = [];
  readonly #byKey = new Map<number, number>();
  #status = 'in_progress';

  constructor(id: string, sourceId: string | undefined, index: number, emit: Emit) {
    this.#id = id;
    this.sourceId = sourceId;
    this.#index = index;
    this.#emit = emit;
    emit('response.output_item.added', { output_index: index, item: this.object() });
  }

  get refused(): boolean {
    return this.#parts.some((part) => part.kind === 'refusal');
  }

  object(): object {
    const content = this.#parts.map(contentOf);
    return { id: this.#id, type: 'message', status: this.#status, content, role: 'assistant' };
  }

  take(event: TurnEvent): void {
    if (!('key' in event)) return;
    if (event.type === 'text-start') {
      const part: TextPart = { kind: event.kind, text: '', annotations: [], logprobs: [] };
      this.#byKey.set(event.key, this.#parts.length);
      this.#parts.push(part);
      this.#emitFor('response.content_part.added', this.#parts.length - 1, { part: contentOf(part) });
      return;
    }
    const partIndex = this.#byKey.get(event.key);
    const part = partIndex === undefined ? undefined : this.#parts[partIndex];
    if (partIndex === undefined || !part) return;
    if (event.type === 'text-delta') {
      part.text += event.text;
      part.logprobs.push(...(event.logprobs ?? []));
      if (part.kind === 'refusal') this.#emitFor('response.refusal.delta', partIndex, { delta: event.text });
      else
        this.#emitFor('response.output_text.delta', partIndex, { delta: event.text, logprobs: event.logprobs ?? [] });
    } else if (event.type === 'annotation') {
      const span = { start: 0, end: part.text.length, text: part.text };
      const annotation = responsesAnnotation(event.annotation, span);
      const index = part.annotations.push(annotation) - 1;
      this.#emitFor('response.output_text.annotation.added', partIndex, { annotation_index: index, annotation });
    } else if (event.type === 'text-end') {
      if (part.kind === 'refusal') this.#emitFor('response.refusal.done', partIndex, { refusal: part.text });
      else this.#emitFor('response.output_text.done', partIndex, { text: part.text, logprobs: part.logprobs });
      this.#emitFor('response.content_part.done', partIndex, { part: contentOf(part) });
    }
  }

  close(status: 'completed' | 'incomplete'): void {
    this.#status = status;
    this.#emit('response.output_item.done', { output_index: this.#index, item: this.object() });
  }

  #emitFor(type: string, part: number, fields: object): void {
    this.#emit(type, { item_id: this.#id, output_index: this.#index, content_index: part, ...fields });
  }
}

export class ReasoningItem implements OutputItem {
  readonly #id: string;
  readonly #index: number;
  readonly #emit: Emit;
  readonly #draft: ReasoningDraft;
  #reasoning: ReasoningBlock | null = null;
  /** The paragraph being written, and what it says so far. */
  #open: { readonly full: boolean; readonly paragraph: number; text: string } | null = null;

  constructor(event: Extract<TurnEvent, { type: 'reasoning-start' }>, id: string, index: number, emit: Emit) {
    this.#id = id;
    this.#index = index;
    this.#emit = emit;
    this.#draft = new ReasoningDraft(event);
    emit('response.output_item.added', { output_index: index, item: this.object() });
  }

  object(): object {
    const reasoning = this.#reasoning ?? this.#draft.end();
    return compact({
      id: this.#id,
      type: 'reasoning',
      status: this.#reasoning ? 'completed' : 'in_progress',
      summary: reasoning.texts.map((text) => ({ type: 'summary_text', text })),
      content: reasoning.full?.map((text) => ({ type: 'reasoning_text', text })),
      encrypted_content: this.#reasoning ? encryptedOf(this.#reasoning) : undefined,
    });
  }

  take(event: TurnEvent): void {
    if (event.type === 'reasoning-delta') this.#delta(event);
    if (event.type !== 'reasoning-end') return;
    this.#closeParagraph();
    this.#reasoning = this.#draft.end(event);
    this.#emit('response.output_item.done', { output_index: this.#index, item: this.object() });
  }

  #delta(event: Extract<TurnEvent, { type: 'reasoning-delta' }>): void {
    const full = event.full === true;
    const { paragraph } = event;
    if (!this.#open || this.#open.full !== full || this.#open.paragraph !== paragraph) {
      this.#closeParagraph();
      this.#open = { full, paragraph, text: '' };
      const [type, part] = full
        ? ['response.content_part.added', { type: 'reasoning_text', text: '' }]
        : ['response.reasoning_summary_part.added', { type: 'summary_text', text: '' }];
      this.#emitFor(type, { part });
    }
    this.#draft.add(event);
    this.#open.text += event.text;
    this.#emitFor(full ? 'response.reasoning_text.delta' : 'response.reasoning_summary_text.delta', {
      delta: event.text,
    });
  }

  #closeParagraph(): void {
    if (!this.#open) return;
    const { full, text } = this.#open;
    this.#emitFor(full ? 'response.reasoning_text.done' : 'response.reasoning_summary_text.done', { text });
    const part = { type: full ? 'reasoning_text' : 'summary_text', text };
    this.#emitFor(full ? 'response.content_part.done' : 'response.reasoning_summary_part.done', { part });
    this.#open = null;
  }

  #emitFor(type: string, fields: object): void {
    const paragraph = this.#open?.paragraph ?? 0;
    const position = this.#open?.full === true ? { content_index: paragraph } : { summary_index: paragraph };
    this.#emit(type, { item_id: this.#id, output_index: this.#index, ...position, ...fields });
  }
}

export class ToolItem implements OutputItem {
  readonly #id: string;
  readonly #index: number;
  readonly #emit: Emit;
  readonly #callId: string;
  readonly #tool: ToolRef;
  #input = '';
  #status = 'in_progress';

  constructor(event: Extract<TurnEvent, { type: 'tool-start' }>, id: string, index: number, emit: Emit) {
    this.#id = id;
    this.#index = index;
    this.#emit = emit;
    this.#callId = event.callId;
    this.#tool = event.tool;
    emit('response.output_item.added', { output_index: index, item: this.object() });
  }

  object(): object {
    const { kind, name, namespace } = this.#tool;
    const common = { id: this.#id, status: this.#status, call_id: this.#callId };
    if (kind === 'custom') return compact({ ...common, type: 'custom_tool_call', name, namespace, input: this.#input });
    if (kind === 'search') {
      // Arguments that are no JSON yet are text.
      const args = this.#status === 'in_progress' ? {} : (parseJson(this.#input) ?? this.#input);
      return { ...common, type: 'tool_search_call', execution: 'client', arguments: args };
    }
    return compact({ ...common, type: 'function_call', name, namespace, arguments: this.#input });
  }

  take(event: TurnEvent): void {
    if (event.type === 'tool-delta') {
      this.#input += event.text;
      this.#emitFor('delta', { delta: event.text });
    } else if (event.type === 'tool-end') {
      const whole =
        this.#tool.kind === 'custom' ? { input: this.#input } : { name: this.#tool.name, arguments: this.#input };
      this.#emitFor('done', whole);
      this.#status = event.incomplete === true ? 'incomplete' : 'completed';
      this.#emit('response.output_item.done', { output_index: this.#index, item: this.object() });
    }
  }

  /** A tool search has no events for its arguments: the finished item holds them. */
  #emitFor(what: 'delta' | 'done', fields: object): void {
    if (this.#tool.kind === 'search') return;
    const type = this.#tool.kind === 'custom' ? 'custom_tool_call_input' : 'function_call_arguments';
    this.#emit(`response.${type}.${what}`, { item_id: this.#id, output_index: this.#index, ...fields });
  }
}

export class OpaqueItem implements OutputItem {
  readonly #raw: JsonObject;

  constructor(raw: JsonObject, index: number, emit: Emit) {
    this.#raw = raw;
    emit('response.output_item.added', { output_index: index, item: raw });
    emit('response.output_item.done', { output_index: index, item: raw });
  }

  take(): void {}

  object(): object {
    return this.#raw;
  }
}

/** The encrypted content of a reasoning item; undefined where the reasoning cannot be sent back anyway. */
function encryptedOf(reasoning: ReasoningBlock): string | undefined {
  if (reasoning.origin === 'responses') return reasoning.encrypted;
  return reasoning.origin === 'messages' ? packReasoning(reasoning) : undefined;
}
