/** What the parts of a conversation bring beside their text: found in each part, and counted while its messages are walked. */
import { isObject, type Json, type JsonObject } from '../lib/json.ts';
import { refuse } from './errors.ts';

/** The types of all formats that bring something, each with the members that hold it. */
const IMAGES: ReadonlyMap<unknown, ReadonlySet<string>> = holders({
  image: ['source', 'image', 'image_url', 'url', 'data', 'file_id'],
  image_url: ['image_url', 'url', 'file_id'],
  input_image: ['image_url', 'file_id', 'file_data'],
  computer_screenshot: ['image_url', 'file_id'],
});
const FILES: ReadonlyMap<unknown, ReadonlySet<string>> = holders({
  document: ['source'],
  file: ['file', 'file_id', 'file_data', 'file_url', 'data', 'url'],
  input_file: ['file_id', 'file_data', 'file_url'],
  input_audio: ['input_audio', 'data'],
  container_upload: ['file_id'],
});

/** Types that are known to bring nothing, unless a member says otherwise. */
const TEXTS: ReadonlySet<unknown> = new Set([
  ...['text', 'input_text', 'output_text', 'summary_text', 'reasoning_text', 'refusal', 'thinking', 'reasoning'],
  ...['search_result', 'tool_reference', 'tool_addition', 'tool_removal', 'mcp_tool_listing', 'fallback', 'compaction'],
]);
const TOOL_PART = /(?:tool_use|tool_result|_call|_output)$/;
/** What the provider has written itself, with the members in which it refers to something or has encoded it. */
const PROVIDERS_OWN: ReadonlyMap<unknown, ReadonlySet<string>> = holders({
  redacted_thinking: ['data'],
  encrypted_content: [],
  web_search_result: ['url'],
  web_fetch_result: ['url'],
  code_execution_output: ['file_id'],
  bash_code_execution_output: ['file_id'],
});

/** A part of an unknown type that has nothing else is text: all of it is in the body. */
const TEXT_MEMBERS: ReadonlySet<string> = new Set([
  ...['type', 'text', 'content', 'thinking', 'reasoning', 'summary', 'refusal', 'input', 'arguments', 'output'],
  ...['id', 'name', 'title', 'role', 'status', 'index', 'tool_use_id', 'tool_call_id', 'call_id', 'tool_name'],
  ...['cache_control', 'prompt_cache_breakpoint', 'citations', 'annotations', 'logprobs', 'signature'],
  ...['encrypted_content', 'tool', 'tool_changes'],
  ...['is_error', 'stdout', 'stderr', 'outcome', 'exit_code', 'created_by'],
]);
/** Members that hold or point at something that is not text, whatever the type of the part. */
const MEDIA_MEMBERS: ReadonlySet<string> = new Set([
  ...['image', 'images', 'video', 'videos', 'audio', 'input_audio', 'document', 'file', 'files', 'media'],
  ...['data', 'b64_json', 'inline_data', 'inlineData', 'file_data', 'fileData', 'file_id', 'fileId'],
]);
const ADDRESS = /(?:^ur[il]|_ur[il]|Ur[il])s?$/;

/** How many images and files a part brings. Whatever is not known to be text or an image counts like a file. */
export interface Brought {
  readonly images: number;
  readonly files: number;
}

export const NOTHING: Brought = { images: 0, files: 0 };

export function broughtBy(part: JsonObject): Brought {
  const { type } = part;
  const own = IMAGES.get(type) ?? FILES.get(type) ?? PROVIDERS_OWN.get(type);
  const known = own !== undefined || isText(type);
  let images = IMAGES.has(type) ? 1 : 0;
  let others = 0;
  for (const name in part) {
    const value = part[name];
    if (TEXT_MEMBERS.has(name) && (known || name !== 'content' || !isObject(value))) continue;
    if (isEmpty(value)) continue;
    const isOne = !Array.isArray(value);
    if (isOne && own?.has(name)) continue;
    if (isOne && name === 'image_url') images++;
    else if (!known || isMedia(name, value)) others = 1;
  }
  const files = FILES.has(type) ? 1 + others : others;
  return images + files === 0 ? NOTHING : { images, files };
}

/** Whether parts of this type hold a file, in members that are known. */
export function isFileType(type: unknown): boolean {
  return FILES.has(type);
}

function isText(type: unknown): boolean {
  return TEXTS.has(type) || (typeof type === 'string' && TOOL_PART.test(type));
}

function isEmpty(value: Json | undefined): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);
}

function isMedia(name: string, value: Json | undefined): boolean {
  // The source of a search result is a name.
  if (name === 'source') return isObject(value);
  return MEDIA_MEMBERS.has(name) || ADDRESS.test(name);
}

export class AttachmentTally {
  readonly needs: { images?: string; files?: string } = {};
  #count = 0;
  #inlineBytes = 0;

  get attachments(): { readonly count: number; readonly inlineBytes: number } {
    return { count: this.#count, inlineBytes: this.#inlineBytes };
  }

  /** Not what is in the content of the part: that has parts of its own. */
  part(part: JsonObject, path: string): void {
    const { images, files } = broughtBy(part);
    if (images + files === 0) return;
    if (images > 0) this.needs.images ??= path;
    if (files > 0) this.needs.files ??= path;
    this.#count += images + files;
    refuseStored(part, path);
    for (const name in part) {
      const value = part[name];
      if (!isMedia(name, value)) continue;
      if (isObject(value)) this.#addHeld(value, `${path}.${name}`);
      else this.#addInline(value);
    }
  }

  /** With the parts of their contents. */
  parts(parts: readonly Json[], path: string): void {
    for (let index = 0; index < parts.length; index++) {
      const part = parts[index];
      if (!isObject(part)) continue;
      const at = `${path}[${index}]`;
      this.part(part, at);
      if (Array.isArray(part.content)) this.parts(part.content, `${at}.content`);
    }
  }

  #addHeld(holder: JsonObject, path: string): void {
    refuseStored(holder, path);
    // The source of a document can be its text.
    if (holder.type === 'text') return;
    for (const name of ['url', 'data', 'file_data']) this.#addInline(holder[name]);
  }

  /** What may hold the thing itself (base64 or a data URL); a plain URL takes no inline bytes. */
  #addInline(data: Json | undefined): void {
    if (typeof data === 'string' && !isAddress(data)) this.#inlineBytes += data.length;
  }
}

export function isAddress(data: string): boolean {
  return data.startsWith('http://') || data.startsWith('https://');
}

/** Files stored at the provider belong to the operator's account, not to the caller. */
function refuseStored(holder: JsonObject, path: string): void {
  if (holder.file_id === undefined || holder.file_id === null) return;
  const param = `${path}.file_id`;
  refuse(param, `${param}: files stored at the provider cannot be used through the gateway. Send the file inline.`);
}

function holders(types: Readonly<Record<string, readonly string[]>>): ReadonlyMap<unknown, ReadonlySet<string>> {
  return new Map(Object.entries(types).map(([type, names]) => [type, new Set(names)]));
}
