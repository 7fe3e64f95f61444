/** The JSON of a stored response, as the gateway writes and reads it; the ledger does not look into it. */
import { arrayAt, isObject, type Json, type JsonObject, objectAt, parseJson, stringAt } from '../../lib/json.ts';
import { withoutEncrypted } from './answer-state.ts';

/** Ids that can be stored and referred to; others are of no use to a client, or not safe in an index. */
export function isStorableId(id: unknown): id is string {
  return typeof id === 'string' && /^[!-~]{1,200}$/.test(id);
}

/** Output items, and the provider that made them: only that one can read the reasoning that it encrypted. */
export interface StoredOutput {
  readonly provider: string;
  readonly items: readonly JsonObject[];
}

export function writeOutput({ provider, items }: StoredOutput): string {
  return JSON.stringify({ provider, items });
}

export function readOutput(text: string): StoredOutput {
  const value = objectOf(text);
  return { provider: stringAt(value, 'provider') ?? '', items: (arrayAt(value, 'items') ?? []).filter(isObject) };
}

export function readInput(text: string): readonly Json[] {
  const value = parseJson(text);
  return Array.isArray(value) ? value : [];
}

/** The items that a request brings; a text is a message of the user. */
export function inputItems(input: Json | undefined): readonly Json[] {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  return Array.isArray(input) ? input : [];
}

/** An item as a list shows it: complete, and with an id; `id` where it has none of its own. */
export function listedItem(item: JsonObject, id: string): JsonObject {
  const type = stringAt(item, 'type') ?? 'message';
  const own = { ...item, type, id: isStorableId(item.id) ? item.id : id };
  if (type !== 'message') return own;
  const { content = [], status = 'completed' } = item;
  const text = item.role === 'assistant' ? { type: 'output_text', annotations: [] } : { type: 'input_text' };
  return { ...own, status, content: typeof content === 'string' ? [{ ...text, text: content }] : content };
}

/** The response object without its output. `shown`: whether its client asked for encrypted reasoning. */
export function writeResponse(response: JsonObject, shown: boolean): string {
  return JSON.stringify({ shown, object: { ...response, output: [] } });
}

/** The response object as its client saw it. */
export function readResponse(text: string, output: string): JsonObject {
  const value = objectOf(text);
  const { items } = readOutput(output);
  return { ...objectAt(value, 'object'), output: value.shown === true ? items : items.map(withoutEncrypted) };
}

function objectOf(text: string): JsonObject {
  const value = parseJson(text);
  return isObject(value) ? value : {};
}
