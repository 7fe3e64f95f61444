/**
 * A passed-through response as the client has seen it so far: what `response.created` said, and the items that were
 * streamed. A failure event repeats it. One per attempt.
 */
import { isObject, type Json, type JsonObject, parseJson, stringAt } from '../../lib/json.ts';

/** Text of an item that is still open is kept up to this; a failure event shows no more of it. */
const OPEN_TEXT_MAX = 1024 * 1024;

/** Deltas of one part of the open item, as they were escaped in the provider's JSON (Latin-1 view of the bytes). */
interface OpenText {
  readonly type: string;
  readonly part: number;
  raw: string;
}

export class ResponseSnapshot {
  #created: JsonObject | null = null;
  readonly #items = new Map<number, JsonObject>();
  /** The texts of the items that have been added and not done. */
  readonly #open = new Map<number, OpenText[]>();
  #lastIndex = 0;
  #openLength = 0;

  created(response: JsonObject): void {
    this.#created ??= response;
  }

  /** The members that later events must repeat. */
  get identity(): JsonObject {
    return this.#created === null ? {} : { id: this.#created.id ?? '', created_at: this.#created.created_at ?? 0 };
  }

  /** An item that has been added; its deltas follow. */
  added(index: number, item: JsonObject): void {
    this.#items.set(index, item);
    this.#open.set(index, []);
    this.#lastIndex = index;
  }

  done(index: number, item: JsonObject): void {
    this.#items.set(index, item);
    this.#open.delete(index);
    if (this.#open.size === 0) this.#openLength = 0;
  }

  /** The item that an event without an index belongs to: the one that was added last. */
  get lastIndex(): number {
    return this.#lastIndex;
  }

  get lastId(): string {
    return stringAt(this.#items.get(this.#lastIndex) ?? {}, 'id') ?? '';
  }

  /** `raw` is a string of its own: a slice of the chunk's text would keep all of it alive. */
  delta(index: number, type: string, part: number, raw: string): void {
    const texts = this.#open.get(index === -1 ? this.#lastIndex : index);
    this.#openLength += raw.length;
    if (texts === undefined || this.#openLength > OPEN_TEXT_MAX) return;
    const last = texts.at(-1);
    if (last?.type === type && last.part === part) last.raw += raw;
    else texts.push({ type, part, raw });
  }

  /** Null where no response has been announced. */
  response(): JsonObject | null {
    if (this.#created === null) return null;
    const items = [...this.#items].map(
      ([index, item]) => [index, withOpenText(item, this.#open.get(index) ?? [])] as const,
    );
    return { ...this.#created, output: inOrder(new Map(items)) };
  }
}

function withOpenText(item: JsonObject, texts: readonly OpenText[]): JsonObject {
  const content = partsOf(item.content);
  const summary = partsOf(item.summary);
  const changed: Record<string, Json | undefined> = { ...item };
  for (const { type, part, raw } of texts) {
    const text = decoded(raw);
    switch (type) {
      case 'response.output_text.delta':
        content.set(part, { type: 'output_text', text, annotations: [], logprobs: [] });
        break;
      case 'response.refusal.delta':
        content.set(part, { type: 'refusal', refusal: text });
        break;
      case 'response.reasoning_text.delta':
        content.set(part, { type: 'reasoning_text', text });
        break;
      case 'response.reasoning_summary_text.delta':
        summary.set(part, { type: 'summary_text', text });
        break;
      case 'response.function_call_arguments.delta':
        changed.arguments = text;
        break;
      case 'response.custom_tool_call_input.delta':
        changed.input = text;
        break;
    }
  }
  if (content.size > 0) changed.content = inOrder(content);
  if (summary.size > 0) changed.summary = inOrder(summary);
  return changed;
}

/** Parts by their indexes. The provider may give any: a list would be as long as the greatest of them. */
function partsOf(list: Json | undefined): Map<number, JsonObject> {
  return new Map(Array.isArray(list) ? list.filter(isObject).entries() : []);
}

function inOrder(byIndex: ReadonlyMap<number, JsonObject>): JsonObject[] {
  return [...byIndex].sort(([a], [b]) => a - b).map(([, part]) => part);
}

function decoded(raw: string): string {
  const text = parseJson(`"${Buffer.from(raw, 'latin1').toString()}"`);
  return typeof text === 'string' ? text : '';
}
