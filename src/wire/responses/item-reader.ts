/**
 * One output item of a response, whether it comes in deltas, whole at its end, or both: what only the end
 * shows is read at the end, and nothing is read twice.
 */
import { getOrInsert } from '../../lib/get-or-insert.ts';
import { type Json, type JsonObject, numberAt, objectAt, stringAt } from '../../lib/json.ts';
import { generatedTexts } from '../generated-text.ts';
import { partsAt } from '../translate/answer-parts.ts';
import type { TurnEvent } from '../translate/turn.ts';
import { unread } from '../translate/unread.ts';
import { isNotGenerated, isRepeating } from './event-fields.ts';
import { SEARCH_TOOL } from './tools.ts';

interface TextPiece {
  readonly key: number;
  readonly kind: 'text' | 'refusal';
  text: string;
  annotations: number;
  open: boolean;
}

interface Paragraph {
  /** Its place among those that have text: the provider's own index may be any number. */
  readonly place: number;
  text: string;
}

type Kind = 'message' | 'reasoning' | 'function' | 'custom' | 'search' | 'opaque';

export class ItemReader {
  readonly #item: JsonObject;
  readonly #kind: Kind;
  readonly #nextKey: () => number;
  readonly #texts = new Map<number, TextPiece>();
  /** The paragraphs of reasoning that were seen, by the provider's indexes and by whether they are its full text. */
  readonly #summary = new Map<number, Paragraph>();
  readonly #full = new Map<number, Paragraph>();
  #key = -1;
  #input = '';
  #done = false;
  /** How many characters of the item's text have been read. */
  #length = 0;
  refused = false;

  constructor(item: JsonObject, nextKey: () => number) {
    this.#item = item;
    this.#kind = kindOf(item);
    this.#nextKey = nextKey;
  }

  get id(): string | undefined {
    return stringAt(this.#item, 'id');
  }

  get called(): boolean {
    return this.#kind === 'function' || this.#kind === 'custom' || this.#kind === 'search';
  }

  begin(): readonly TurnEvent[] {
    const { type, name: called } = this.#item;
    if (this.#kind === 'message') return [];
    if (this.#kind === 'opaque') return this.#unread(unread({ type, name: called }));
    const key = this.#nextKey();
    this.#key = key;
    if (this.#kind === 'reasoning') return [{ type: 'reasoning-start', key, origin: 'responses', id: this.id }];
    const name = this.#kind === 'search' ? SEARCH_TOOL : (stringAt(this.#item, 'name') ?? '');
    this.#length += typeof called === 'string' ? called.length : 0;
    const callId = stringAt(this.#item, 'call_id') ?? this.id ?? `call_${key}`;
    const tool = { kind: this.#kind, name, namespace: stringAt(this.#item, 'namespace') };
    return [{ type: 'tool-start', key, callId, tool, itemId: this.id }];
  }

  read(type: string, value: JsonObject): readonly TurnEvent[] {
    if (this.#done) return [];
    const events = this.#read(type, value);
    // Parts that the item has no place for are shown again at its end.
    return events.length > 0 || isRepeating(type) || isNotGenerated(type) ? events : this.#unread(unread(value));
  }

  #read(type: string, value: JsonObject): readonly TurnEvent[] {
    const delta = stringAt(value, 'delta') ?? '';
    const part = numberAt(value, 'content_index') ?? 0;
    switch (type) {
      case 'response.content_part.added':
        return this.#partAdded(part, objectAt(value, 'part') ?? {});
      case 'response.output_text.delta':
        return this.#text(part, 'text', delta, value.logprobs);
      case 'response.refusal.delta':
        return this.#text(part, 'refusal', delta, undefined);
      case 'response.output_text.done':
        return this.#fillText(part, 'text', stringAt(value, 'text'));
      case 'response.refusal.done':
        return this.#fillText(part, 'refusal', stringAt(value, 'refusal'));
      case 'response.output_text.annotation.added':
        return this.#annotation(part, objectAt(value, 'annotation'));
      case 'response.content_part.done':
        return this.#partDone(part, objectAt(value, 'part') ?? {});
      case 'response.reasoning_summary_text.delta':
        return this.#reasoning(numberAt(value, 'summary_index') ?? 0, delta, false);
      case 'response.reasoning_text.delta':
        return this.#reasoning(part, delta, true);
      case 'response.reasoning_summary_text.done':
        return this.#fillReasoning(numberAt(value, 'summary_index') ?? 0, stringAt(value, 'text'), false);
      case 'response.reasoning_text.done':
        return this.#fillReasoning(part, stringAt(value, 'text'), true);
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        return this.#arguments(delta);
      case 'response.function_call_arguments.done':
        return this.#fillArguments(stringAt(value, 'arguments'));
      case 'response.custom_tool_call_input.done':
        return this.#fillArguments(stringAt(value, 'input'));
    }
    return [];
  }

  /** `item` is the finished item, or empty where the server never showed it. */
  done(item: JsonObject): readonly TurnEvent[] {
    if (this.#done) return [];
    const events = this.#finish(item);
    this.#done = true;
    const text = generatedTexts(item).join('');
    return text.length > this.#length ? [...events, ...unread(text.slice(this.#length))] : events;
  }

  #unread(events: readonly TurnEvent[]): readonly TurnEvent[] {
    for (const event of events) if (event.type === 'unread') this.#length += event.text.length;
    return events;
  }

  #finish(item: JsonObject): readonly TurnEvent[] {
    const key = this.#key;
    switch (this.#kind) {
      case 'message': {
        const events = partsAt(item, 'content').flatMap((part, index) => this.#partDone(index, part));
        for (const index of this.#texts.keys()) events.push(...this.#close(index));
        return events;
      }
      case 'reasoning': {
        const encrypted = stringAt(item, 'encrypted_content') ?? stringAt(this.#item, 'encrypted_content');
        const texts = (name: string, full: boolean): TurnEvent[] =>
          partsAt(item, name).flatMap((part, index) => this.#fillReasoning(index, stringAt(part, 'text'), full));
        const events = [...texts('summary', false), ...texts('content', true)];
        return [...events, { type: 'reasoning-end', key, encrypted }];
      }
      case 'opaque':
        return [{ type: 'opaque', format: 'responses', raw: Object.keys(item).length > 0 ? item : this.#item }];
      default: {
        const events = this.#fillArguments(inputOf(item, this.#kind));
        return [...events, { type: 'tool-end', key }];
      }
    }
  }

  #piece(index: number, kind: TextPiece['kind'], events: TurnEvent[]): TextPiece {
    const known = this.#texts.get(index);
    if (known) return known;
    if (kind === 'refusal') this.refused = true;
    const piece: TextPiece = { key: this.#nextKey(), kind, text: '', annotations: 0, open: true };
    this.#texts.set(index, piece);
    events.push({ type: 'text-start', key: piece.key, kind, itemId: this.id });
    return piece;
  }

  #partAdded(index: number, part: JsonObject): TurnEvent[] {
    const events: TurnEvent[] = [];
    const type = stringAt(part, 'type');
    if (this.#kind !== 'message') return events;
    this.#piece(index, type === 'refusal' ? 'refusal' : 'text', events);
    return events;
  }

  #text(index: number, kind: TextPiece['kind'], text: string, logprobs: Json | undefined): TurnEvent[] {
    const events: TurnEvent[] = [];
    const piece = this.#piece(index, kind, events);
    if (text === '' || !piece.open) return events;
    piece.text += text;
    this.#length += text.length;
    const known = Array.isArray(logprobs) && logprobs.length > 0 ? logprobs : undefined;
    events.push({ type: 'text-delta', key: piece.key, text, logprobs: known });
    return events;
  }

  #fillText(index: number, kind: TextPiece['kind'], whole: string | undefined, logprobs?: Json): TurnEvent[] {
    const seen = this.#texts.get(index)?.text ?? '';
    if (whole === undefined || !whole.startsWith(seen)) return [];
    return this.#text(index, kind, whole.slice(seen.length), seen === '' ? logprobs : undefined);
  }

  #annotation(index: number, raw: JsonObject | undefined): TurnEvent[] {
    const events: TurnEvent[] = [];
    if (!raw) return events;
    const piece = this.#piece(index, 'text', events);
    piece.annotations++;
    events.push({ type: 'annotation', key: piece.key, annotation: { format: 'responses', raw } });
    return events;
  }

  #partDone(index: number, part: JsonObject): TurnEvent[] {
    if (this.#kind !== 'message' || this.#texts.get(index)?.open === false) return [];
    const refusal = stringAt(part, 'type') === 'refusal';
    const kind = refusal ? 'refusal' : 'text';
    const events: TurnEvent[] = [];
    this.#piece(index, kind, events);
    events.push(...this.#fillText(index, kind, stringAt(part, refusal ? 'refusal' : 'text'), part.logprobs));
    const seen = this.#texts.get(index)?.annotations ?? 0;
    for (const raw of partsAt(part, 'annotations').slice(seen)) events.push(...this.#annotation(index, raw));
    return [...events, ...this.#close(index)];
  }

  #close(index: number): TurnEvent[] {
    const piece = this.#texts.get(index);
    if (!piece?.open) return [];
    piece.open = false;
    return [{ type: 'text-end', key: piece.key }];
  }

  #reasoning(index: number, text: string, full: boolean): TurnEvent[] {
    if (this.#kind !== 'reasoning' || text === '') return [];
    const seen = full ? this.#full : this.#summary;
    const paragraph = getOrInsert(seen, index, () => ({ place: seen.size, text: '' }));
    paragraph.text += text;
    this.#length += text.length;
    return [{ type: 'reasoning-delta', key: this.#key, text, paragraph: paragraph.place, ...(full ? { full } : {}) }];
  }

  #fillReasoning(index: number, whole: string | undefined, full: boolean): TurnEvent[] {
    const seen = (full ? this.#full : this.#summary).get(index)?.text ?? '';
    if (whole === undefined || !whole.startsWith(seen)) return [];
    return this.#reasoning(index, whole.slice(seen.length), full);
  }

  #arguments(text: string): TurnEvent[] {
    if (!this.called || text === '') return [];
    this.#input += text;
    this.#length += text.length;
    return [{ type: 'tool-delta', key: this.#key, text }];
  }

  #fillArguments(whole: string | undefined): TurnEvent[] {
    if (whole === undefined || !whole.startsWith(this.#input)) return [];
    return this.#arguments(whole.slice(this.#input.length));
  }
}

function kindOf(item: JsonObject): Kind {
  switch (item.type) {
    case 'message':
    case 'reasoning':
      return item.type;
    case 'function_call':
      return 'function';
    case 'custom_tool_call':
      return 'custom';
    case 'tool_search_call':
      return item.execution === 'client' ? 'search' : 'opaque';
  }
  return 'opaque';
}

function inputOf(item: JsonObject, kind: Kind): string | undefined {
  if (kind === 'custom') return stringAt(item, 'input');
  const args = item.arguments;
  if (typeof args === 'string') return args;
  return args === undefined || args === null ? undefined : JSON.stringify(args);
}
