/** An answer's events put together: what a whole body holds. */
import type { TokenCounts } from '../core/usage.ts';
import type { Json, JsonObject } from './json.ts';
import { packThought } from './thought.ts';
import type { Annotation, Thought, ToolRef, TurnEvent } from './turn.ts';

export interface TextBlock {
  readonly type: 'text';
  readonly kind: 'text' | 'refusal';
  readonly itemId: string | undefined;
  text: string;
  readonly annotations: { readonly annotation: Annotation; readonly end: number }[];
  logprobs: Json[];
}

export interface ToolBlock {
  readonly type: 'tool';
  readonly callId: string;
  readonly tool: ToolRef;
  input: string;
}

export type AnswerBlock =
  | TextBlock
  | ToolBlock
  | { readonly type: 'reasoning'; thought: Thought }
  | { readonly type: 'opaque'; readonly format: string; readonly raw: JsonObject };

export interface Answer {
  readonly start: Extract<TurnEvent, { type: 'start' }>;
  readonly blocks: readonly AnswerBlock[];
  readonly tokens: TokenCounts | null;
  readonly finish: Extract<TurnEvent, { type: 'finish' }> | null;
}

/** A thought as its events come in. */
export class ThoughtDraft {
  readonly #origin: Thought['origin'];
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

  end(event?: Extract<TurnEvent, { type: 'reasoning-end' }>): Thought {
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

/** What stands as the signature of a thinking block: its own, or the thought of another format packed into one. */
export function signatureOf(thought: Thought): string {
  if (thought.origin === 'messages') return thought.signature ?? '';
  return packThought(thought.origin === 'chat' ? { origin: 'chat', texts: [] } : thought);
}

/** What stands as the encrypted content of a reasoning item; null where the thought cannot be sent back anyway. */
export function encryptedOf(thought: Thought): string | null {
  if (thought.origin === 'responses') return thought.encrypted ?? null;
  return thought.origin === 'messages' ? packThought(thought) : null;
}

export function collect(events: Iterable<TurnEvent>): Answer {
  let start: Answer['start'] = { type: 'start', id: null, createdS: null };
  let tokens: TokenCounts | null = null;
  let finish: Answer['finish'] = null;
  const blocks: AnswerBlock[] = [];
  const texts = new Map<number, TextBlock>();
  const tools = new Map<number, ToolBlock>();
  const thoughts = new Map<number, { draft: ThoughtDraft; block: { type: 'reasoning'; thought: Thought } }>();
  for (const event of events) {
    switch (event.type) {
      case 'start':
        start = event;
        break;
      case 'text-start': {
        const { kind, itemId } = event;
        const block: TextBlock = { type: 'text', kind, itemId, text: '', annotations: [], logprobs: [] };
        texts.set(event.key, block);
        blocks.push(block);
        break;
      }
      case 'text-delta': {
        const block = texts.get(event.key);
        if (!block) break;
        block.text += event.text;
        block.logprobs.push(...(event.logprobs ?? []));
        break;
      }
      case 'annotation': {
        const block = texts.get(event.key);
        block?.annotations.push({ annotation: event.annotation, end: block.text.length });
        break;
      }
      case 'reasoning-start': {
        const draft = new ThoughtDraft(event);
        const block = { type: 'reasoning' as const, thought: draft.end() };
        thoughts.set(event.key, { draft, block });
        blocks.push(block);
        break;
      }
      case 'reasoning-delta':
        thoughts.get(event.key)?.draft.add(event);
        break;
      case 'reasoning-end': {
        const open = thoughts.get(event.key);
        if (open) open.block.thought = open.draft.end(event);
        break;
      }
      case 'tool-start': {
        const block: ToolBlock = { type: 'tool', callId: event.callId, tool: event.tool, input: '' };
        tools.set(event.key, block);
        blocks.push(block);
        break;
      }
      case 'tool-delta': {
        const block = tools.get(event.key);
        if (block) block.input += event.text;
        break;
      }
      case 'opaque':
        blocks.push({ type: 'opaque', format: event.format, raw: event.raw });
        break;
      case 'usage':
        tokens = event.tokens;
        break;
      case 'finish':
        finish = event;
        break;
    }
  }
  return { start, blocks, tokens, finish };
}
