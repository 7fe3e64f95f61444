/**
 * What of a request the model reads, by how sure that is. The three formats name it by the same words, so one walk over
 * the body serves them all; images and files are set apart and never counted as text.
 */
import { isObject, type Json, type JsonObject } from '../lib/json.ts';
import { broughtBy, isAddress, isFileType, NOTHING } from '../wire/attachments.ts';

export interface Prompt {
  /** The model is sure to read it. */
  readonly certain: readonly string[];
  /** Definitions of tools and of the answer's shape: read in a form that only the provider knows. */
  readonly definitions: readonly string[];
  /** Everything else, which it may read or not: names, ids, earlier reasoning, fields that are not known here. */
  readonly others: readonly string[];
  /** Messages, and the parts in them: providers put tokens around each. */
  readonly segments: number;
  readonly tools: number;
  readonly images: number;
  readonly files: number;
  /** The most that the files can count for; null where their size says nothing about it (a document of pages, a URL). */
  readonly fileTokensMax: number | null;
  /** The request lets the provider leave out or condense a part of it when it is too long. */
  readonly shortened: boolean;
}

/** Members that are the prompt itself. */
const CERTAIN_ROOTS: ReadonlySet<string> = new Set(['messages', 'input', 'system', 'instructions']);
const DEFINITIONS: ReadonlySet<string> = new Set(
  'tools functions response_format text output_format output_config'.split(' '),
);
/** Members that steer the call and are never part of the prompt. */
const SETTINGS: ReadonlySet<string> = new Set([
  'model',
  'metadata',
  'user',
  'stream_options',
  'stop',
  'stop_sequences',
]);
/** Inside a message or item: the members whose text is read as it stands. */
const TEXT_MEMBERS: ReadonlySet<string> = new Set(['content', 'text', 'output', 'arguments', 'input']);
/** Earlier reasoning is dropped by most providers, and signed ones are not read as their text. */
const REASONING: ReadonlySet<unknown> = new Set(['reasoning', 'thinking', 'redacted_thinking']);

export function readPrompt(body: JsonObject): Prompt {
  return new PromptCollector().read(body);
}

class PromptCollector {
  readonly #certain: string[] = [];
  readonly #others: string[] = [];
  #segments = 0;
  #images = 0;
  #files = 0;
  #fileTokensMax: number | null = 0;

  read(body: JsonObject): Prompt {
    const definitions: string[] = [];
    for (const [name, value] of Object.entries(body)) {
      if (value === undefined || value === null || SETTINGS.has(name)) continue;
      if (CERTAIN_ROOTS.has(name)) this.#root(value);
      else if (DEFINITIONS.has(name)) definitions.push(JSON.stringify(value));
      else this.#others.push(JSON.stringify(value));
    }
    const { tools, functions } = body;
    return {
      certain: this.#certain,
      definitions,
      others: this.#others,
      segments: this.#segments,
      tools: (Array.isArray(tools) ? tools.length : 0) + (Array.isArray(functions) ? functions.length : 0),
      images: this.#images,
      files: this.#files,
      fileTokensMax: this.#fileTokensMax,
      shortened: mayBeShortened(body),
    };
  }

  #root(value: Json): void {
    if (typeof value === 'string') {
      this.#segments++;
      this.#certain.push(value);
    } else if (Array.isArray(value)) {
      for (const item of value) this.#item(item);
    }
  }

  /** A message, an item, or a part of either. */
  #item(item: Json): void {
    this.#segments++;
    if (!isObject(item)) {
      this.#text(item, this.#others);
      return;
    }
    if (REASONING.has(item.type)) {
      this.#text(item, this.#others);
      return;
    }
    for (const name in item) {
      const value = item[name];
      if (value === undefined || name === 'type' || name === 'role') continue;
      if (!TEXT_MEMBERS.has(name)) this.#text(value, this.#others);
      else if (name === 'content' || name === 'output') this.#content(value);
      else this.#text(value, this.#certain);
    }
  }

  #content(value: Json): void {
    if (Array.isArray(value)) for (const part of value) this.#part(part);
    else if (isObject(value)) this.#part(value);
    else this.#text(value, this.#certain);
  }

  #part(part: Json): void {
    const { images, files } = isObject(part) ? broughtBy(part) : NOTHING;
    if (!isObject(part) || images + files === 0) {
      this.#item(part);
      return;
    }
    this.#images += images;
    this.#files += files;
    const known = isFileType(part.type) ? 1 : 0;
    if (known === 1) this.#file(part);
    else this.#said(part);
    if (files > known) this.#addFile(null);
  }

  /** What a part says beside what it brings. */
  #said(part: JsonObject): void {
    for (const name of TEXT_MEMBERS) {
      const value = part[name];
      if (value === undefined) continue;
      if (name === 'content' && !isObject(value)) this.#content(value);
      else this.#text(value, this.#certain);
    }
  }

  #file(part: JsonObject): void {
    const { title, context } = part;
    if (title !== undefined) this.#text(title, this.#others);
    if (context !== undefined) this.#text(context, this.#others);
    const source = isObject(part.source) ? part.source : undefined;
    if (source?.type === 'text' && typeof source.data === 'string') this.#certain.push(source.data);
    else if (source?.type === 'content' && source.content !== undefined) this.#content(source.content);
    else this.#addFile(part.type === 'input_audio' ? audioTokensMax(part) : textFileTokensMax(source));
  }

  #addFile(tokensMax: number | null): void {
    const sum = this.#fileTokensMax;
    this.#fileTokensMax = sum === null || tokensMax === null ? null : sum + tokensMax;
  }

  #text(value: Json, into: string[]): void {
    if (typeof value === 'string') into.push(value);
    else if (Array.isArray(value)) for (const item of value) this.#text(item, into);
    else if (isObject(value)) {
      for (const name in value) {
        this.#others.push(name);
        this.#text(value[name] ?? null, into);
      }
    } else if (typeof value === 'number') into.push(String(value));
  }
}

/** Sound has fewer tokens than bytes at every rate in use: ten a second, and no codec for speech is under 1 KB a second. */
function audioTokensMax(part: JsonObject): number | null {
  const holder = isObject(part.input_audio) ? part.input_audio : part;
  const { data, url } = holder;
  return typeof data === 'string' && !isAddress(data) && url === undefined ? decodedBytes(data) : null;
}

/** A plain text has at most as many tokens as bytes; pages are also read as pictures, and packed text grows. */
function textFileTokensMax(source: JsonObject | undefined): number | null {
  if (source?.type !== 'base64' || source.media_type !== 'text/plain') return null;
  return typeof source.data === 'string' ? decodedBytes(source.data) : null;
}

function decodedBytes(base64: string): number {
  return Math.ceil((base64.length * 3) / 4);
}

/** `context_management` edits a prompt that fits; it does not make a longer one fit. */
function mayBeShortened({ truncation }: JsonObject): boolean {
  return truncation !== undefined && truncation !== null && truncation !== 'disabled';
}
