import { field, isObject, type JsonObject, objectsIn } from './json.ts';
import { countTokens } from './tokens.ts';

export interface Tool {
  readonly name: string;
  /** A custom tool takes plain text; a function takes arguments that fit `schema`. */
  readonly custom: boolean;
  readonly schema: unknown;
}

/** `free`: only where the user asks for it. `forced` may name the tool. */
export type ToolChoice =
  | { readonly kind: 'none' | 'free' }
  | { readonly kind: 'forced'; readonly name: string | undefined };

/** A request as the sandbox reads it, independent of its format. */
export interface Prompt extends Question {
  readonly body: JsonObject;
  readonly model: string;
  readonly stream: boolean;
}

/** The part of a request that every format writes in its own way. */
export interface Question {
  /** The text of the last user message that has text. */
  readonly userText: string;
  /** Set where the last input is the result of a tool. */
  readonly toolResult: string | undefined;
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice;
  readonly parallelCalls: boolean;
  readonly outputLimit: number | undefined;
  readonly stops: readonly string[];
  readonly answerCount: number;
  /** The schema of a structured answer; undefined for plain text. */
  readonly answerSchema: unknown;
  readonly inputTokens: number;
}

export class BadRequest extends Error {
  readonly param: string | null;

  constructor(message: string, param: string | null = null) {
    super(message);
    this.param = param;
  }
}

/** The tokens of a message in addition to its text; its JSON is always longer. */
export const TOKENS_PER_MESSAGE = 3;
const TOKENS_PER_IMAGE = 85;
/** The schema of an answer in JSON mode, which asks for no object in particular. */
export const ANY_OBJECT = { const: { simulated: true } };
const IMAGE_TYPES: ReadonlySet<unknown> = new Set(['image', 'image_url', 'input_image']);

/** Throws `BadRequest`. */
export function readPrompt(body: JsonObject, read: (body: JsonObject) => Question): Prompt {
  const { model } = body;
  if (typeof model !== 'string' || model === '') throw new BadRequest('model: a non-empty string is required', 'model');
  return { body, model, stream: body.stream === true, ...read(body) };
}

export function requireList(body: JsonObject, name: string): readonly JsonObject[] {
  const list = body[name];
  if (!Array.isArray(list) || list.length === 0) throw new BadRequest(`${name}: a non-empty array is required`, name);
  return objectsIn(list);
}

/** A positive integer, or undefined where the field is absent or null. */
export function limitIn(body: JsonObject, name: string): number | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) return value;
  throw new BadRequest(`${name}: must be an integer of at least 1`, name);
}

export function stringsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return value === '' ? [] : [value];
  return Array.isArray(value) ? value.filter((entry) => typeof entry === 'string' && entry !== '') : [];
}

/** The text of a message's content, its parts joined by line breaks. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  const texts: string[] = [];
  for (const part of objectsIn(content)) if (typeof part.text === 'string') texts.push(part.text);
  return texts.join('\n');
}

/** Text by its tokens, an image by a constant, anything else by its JSON. */
export function contentTokens(content: unknown): number {
  if (content === undefined || content === null) return 0;
  if (typeof content === 'string') return countTokens(content);
  if (Array.isArray(content)) return content.reduce((sum: number, part) => sum + contentTokens(part), 0);
  if (isObject(content)) {
    if (IMAGE_TYPES.has(content.type)) return TOKENS_PER_IMAGE;
    if (typeof content.text === 'string') return countTokens(content.text);
    if (content.type === 'tool_result') return contentTokens(content.content);
  }
  return jsonTokens(content);
}

export function jsonTokens(value: unknown): number {
  return value === undefined || value === null ? 0 : countTokens(JSON.stringify(value));
}

/** Tool definitions by their JSON; an empty list costs nothing. */
export function toolTokens(tools: unknown): number {
  return Array.isArray(tools) && tools.length > 0 ? jsonTokens(tools) : 0;
}

/** The last input that is not an instruction. */
export function lastInput(items: readonly JsonObject[]): JsonObject | undefined {
  return items.findLast((item) => item.role !== 'system' && item.role !== 'developer');
}

export function lastUserText(items: readonly JsonObject[]): string {
  const last = items.findLast((item) => item.role === 'user' && textOf(item.content) !== '');
  return textOf(last?.content);
}

/** The schema of the answer that a format of Format A asks for; `holder` has it. */
export function readAnswerSchema(format: unknown, holder: unknown): unknown {
  const type = field(format, 'type');
  if (type === 'json_object') return ANY_OBJECT;
  return type === 'json_schema' ? (field(holder, 'schema') ?? {}) : undefined;
}

/** The tool choice of Format A, where the name is found at `nameOf(choice)`. */
export function readToolChoice(choice: unknown, nameOf: (choice: unknown) => unknown): ToolChoice {
  if (choice === 'none') return { kind: 'none' };
  if (choice === 'required') return { kind: 'forced', name: undefined };
  if (field(choice, 'type') === 'allowed_tools') {
    const allowed = field(choice, 'allowed_tools') ?? choice;
    if (field(allowed, 'mode') !== 'required') return { kind: 'free' };
    return forced(nameOf(objectsIn(field(allowed, 'tools'))[0]));
  }
  return isObject(choice) ? forced(nameOf(choice)) : { kind: 'free' };
}

export function forced(name: unknown): ToolChoice {
  return { kind: 'forced', name: typeof name === 'string' ? name : undefined };
}
