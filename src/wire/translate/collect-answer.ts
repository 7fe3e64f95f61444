/** An answer's events put together: what a whole body holds. */
import type { TokenCounts } from '../../core/usage.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { Annotation, ReasoningBlock, ToolRef, TurnEvent } from './turn.ts';

export interface TextBlock {
  readonly type: 'text';
  readonly kind: 'text' | 'refusal';
  readonly itemId: string | undefined;
  text: string;
  readonly annotations: { readonly annotation: Annotation; readonly end: number }[];
  logprobs: Json[];
}

interface ToolBlock {
  readonly type: 'tool';
  readonly callId: string;
  readonly tool: ToolRef;
  input: string;
  /** The answer ended in the middle of the call. */
  incomplete: boolean;
}

export type AnswerBlock =
  | TextBlock
  | ToolBlock
  | { readonly type: 'reasoning'; reasoning: ReasoningBlock }
  | { readonly type: 'opaque'; readonly format: string; readonly raw: JsonObject };

export interface Answer {
  readonly start: Extract<TurnEvent, { type: 'start' }>;
  readonly blocks: readonly AnswerBlock[];
  readonly tokens: TokenCounts | null;
  readonly finish: Extract<TurnEvent, { type: 'finish' }> | null;
}

/** Reasoning as its events come in. */
export class ReasoningDraft {
  readonly #origin: ReasoningBlock['origin'];
  readonly #id: string | undefined;
  readonly #texts: string[] = [];
  readonly #full: string[] = [];

  constructor(event: Extract<TurnEvent, { type: 'reasoning-start' }>) {
    this.#origin = event.origin;
    this.#id = event.id;
  }

  add(event: Extract<TurnEvent, { type: 'reasoning-delta' }>): void {
    const list = event.full === true ? this.#full : this.#texts;
    list[event.paragraph] = (list[event.paragraph] ?? '') + event.text;
  }

  end(event?: Extract<TurnEvent, { type: 'reasoning-end' }>): ReasoningBlock {
    return {
      origin: this.#origin,
      id: this.#id,
      texts: this.#texts.map((text) => text ?? ''),
      full: this.#full.length > 0 ? this.#full.map((text) => text ?? '') : undefined,
      signature: event?.signature,
      redacted: event?.redacted,
      encrypted: event?.encrypted,
    };
  }
}

export function collect(events: Iterable<TurnEvent>): Answer {
  const collector = new Collector();
  for (const event of events) collector.take(event);
  return collector;
}

class Collector implements Answer {
  start: Answer['start'] = { type: 'start', id: null, createdS: null };
  tokens: TokenCounts | null = null;
  finish: Answer['finish'] = null;
  readonly blocks: AnswerBlock[] = [];
  readonly #texts = new Map<number, TextBlock>();
  readonly #tools = new Map<number, ToolBlock>();
  readonly #reasoning = new Map<
    number,
    { draft: ReasoningDraft; block: { type: 'reasoning'; reasoning: ReasoningBlock } }
  >();

  take(event: TurnEvent): void {
    switch (event.type) {
      case 'start':
        this.start = event;
        return;
      case 'usage':
        this.tokens = event.tokens;
        return;
      case 'finish':
        this.finish = event;
        return;
      case 'opaque':
        this.blocks.push({ type: 'opaque', format: event.format, raw: event.raw });
        return;
      case 'tool-start': {
        const block: ToolBlock = { type: 'tool', callId: event.callId, tool: event.tool, input: '', incomplete: false };
        this.#tools.set(event.key, block);
        this.blocks.push(block);
        return;
      }
      case 'tool-delta': {
        const block = this.#tools.get(event.key);
        if (block) block.input += event.text;
        return;
      }
      case 'tool-end': {
        const block = this.#tools.get(event.key);
        if (block) block.incomplete = event.incomplete === true;
        return;
      }
    }
    this.#takeText(event);
    this.#takeReasoning(event);
  }

  #takeText(event: TurnEvent): void {
    if (event.type === 'text-start') {
      const { kind, itemId } = event;
      const block: TextBlock = { type: 'text', kind, itemId, text: '', annotations: [], logprobs: [] };
      this.#texts.set(event.key, block);
      this.blocks.push(block);
    } else if (event.type === 'text-delta') {
      const block = this.#texts.get(event.key);
      if (!block) return;
      block.text += event.text;
      block.logprobs.push(...(event.logprobs ?? []));
    } else if (event.type === 'annotation') {
      const block = this.#texts.get(event.key);
      block?.annotations.push({ annotation: event.annotation, end: block.text.length });
    }
  }

  #takeReasoning(event: TurnEvent): void {
    if (event.type === 'reasoning-start') {
      const draft = new ReasoningDraft(event);
      const block = { type: 'reasoning' as const, reasoning: draft.end() };
      this.#reasoning.set(event.key, { draft, block });
      this.blocks.push(block);
    } else if (event.type === 'reasoning-delta') {
      this.#reasoning.get(event.key)?.draft.add(event);
    } else if (event.type === 'reasoning-end') {
      const open = this.#reasoning.get(event.key);
      if (open) open.block.reasoning = open.draft.end(event);
    }
  }
}
