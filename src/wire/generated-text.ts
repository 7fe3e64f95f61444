/**
 * The text in a provider's JSON that a model has written, also where the format does not know the member: text that
 * nobody recognises would otherwise be free. Names, ids, references and what is encrypted or encoded are not text, except for
 * the name of a tool that the model calls, and what a hosted tool has returned is input.
 */
import { isObject, type Json, type JsonObject } from '../lib/json.ts';

const NOT_TEXT = new Set([
  // Members that name or describe a thing.
  ...['id', 'type', 'object', 'role', 'name', 'model', 'status', 'format', 'phase', 'namespace', 'server_label'],
  ...['filename', 'media_type', 'mime_type', 'execution', 'caller', 'container', 'environment'],
  ...['finish_reason', 'stop_reason', 'stop_sequence', 'stop_details', 'incomplete_details'],
  // Members that point at something: providers do not count them as output.
  ...['url', 'annotation', 'annotations', 'citation', 'citations', 'references', 'search_results'],
  // The same text again, token by token; and padding.
  ...['logprobs', 'prompt_logprobs', 'obfuscation'],
  // Encoded or encrypted.
  ...['data', 'b64_json'],
]);
const NOT_TEXT_ENDING = /(?:_ids?|_url|_b64|signature)$|^encrypted_/;

/** Whether a member of this name holds no text that a model has written, whatever is in it. */
export function isNotText(name: string): boolean {
  return NOT_TEXT.has(name) || NOT_TEXT_ENDING.test(name);
}

/** Blocks and items that hold what a tool has returned. */
const RETURNED = /_(?:tool_result|output)$/;
/** Calls of hosted tools, and their members that hold what the tool has returned. */
const HOSTED = /_call$|^mcp_/;
const RETURNED_MEMBERS = new Set(['output', 'outputs', 'results', 'result', 'tools', 'error']);
/** Members that a model writes as JSON, names and all. */
const WRITTEN_AS_JSON = new Set(['input', 'arguments']);

/** Calls say which tool they are for, which the model has written. */
const CALL = /(?:tool_use|_call)$/;
/** Members of a chat call that hold what it calls. */
const CALLED = new Set(['function', 'custom', 'function_call']);

/** Whether a block or item of this type holds only what a tool has returned. */
export function isReturned(type: string): boolean {
  return RETURNED.test(type);
}

/** Every text within the value. A list: generators cost three times as much, 0.7 µs and 1.6 KB for one answer. */
export function generatedTexts(value: Json | undefined): readonly string[] {
  const texts: string[] = [];
  collectTexts(value, texts);
  return texts;
}

function collectTexts(value: Json | undefined, texts: string[]): void {
  if (typeof value === 'string') {
    if (value !== '') texts.push(value);
  } else if (Array.isArray(value)) {
    for (const element of value) collectTexts(element, texts);
  } else if (isObject(value)) {
    collectFromObject(value, texts);
  }
}

function collectFromObject(value: JsonObject, texts: string[], called = false): void {
  const type = typeof value.type === 'string' ? value.type : '';
  if (isReturned(type)) return;
  const hosted = HOSTED.test(type);
  for (const name in value) {
    if (name === 'name' && (called || CALL.test(type))) collectTexts(value.name, texts);
    if (isNotText(name) || (hosted && RETURNED_MEMBERS.has(name))) continue;
    const member = value[name];
    if (WRITTEN_AS_JSON.has(name) && isObject(member)) texts.push(JSON.stringify(member));
    else collectMember(name, member, texts);
  }
}

function collectMember(name: string, value: Json | undefined, texts: string[]): void {
  if (CALLED.has(name) && isObject(value)) collectFromObject(value, texts, true);
  else collectTexts(value, texts);
}

/** A string of up to so many bytes, where no format has text, is a label: a provider, a region, a tier. */
const LABEL_BYTES_MAX = 64;
/** Labels of one answer that are free. What comes in small pieces beyond that is text. */
const LABELS_BYTES_MAX = 512;

/** The labels of one answer, as far as they are free. */
export class Labels {
  #left = LABELS_BYTES_MAX;

  take(bytes: number): boolean {
    if (bytes > LABEL_BYTES_MAX || bytes > this.#left) return false;
    this.#left -= bytes;
    return true;
  }
}

/** What an object says beside the members that its format names, without labels. */
export function textsBeside(object: JsonObject, named: ReadonlySet<string>, labels = new Labels()): readonly string[] {
  const texts: string[] = [];
  for (const name in object) {
    if (!named.has(name) && !isNotText(name)) collectTexts(object[name], texts);
  }
  return texts.filter((text) => !labels.take(Buffer.byteLength(text)));
}

/** Members of a chat delta or message that servers fill with the same reasoning side by side. */
const REASONING = /reason|think|thought|^provider_specific_fields$/;

/** Whether a member of this name of a chat delta holds reasoning, so that it may repeat another one. */
export function isChatReasoning(name: string): boolean {
  return REASONING.test(name);
}

/** Every text of a chat delta or message, its reasoning once. */
export function chatTexts(message: JsonObject): readonly string[] {
  const texts: string[] = [];
  let reasoning: readonly string[] = [];
  for (const name in message) {
    if (isNotText(name)) continue;
    if (!isChatReasoning(name)) {
      collectMember(name, message[name], texts);
      continue;
    }
    const told = generatedTexts(message[name]);
    if (bytesOf(told) > bytesOf(reasoning)) reasoning = told;
  }
  return reasoning.length === 0 ? texts : texts.concat(reasoning);
}

export function bytesOf(texts: readonly string[]): number {
  let bytes = 0;
  for (const text of texts) bytes += Buffer.byteLength(text);
  return bytes;
}
