/** Content blocks of a messages request → parts of the hub. */
import { compact, isObject, type Json, type JsonObject, objectAt, objectsAt, stringAt } from '../../lib/json.ts';
import { refuse } from '../errors.ts';
import { unpackReasoning } from '../translate/packed-reasoning.ts';
import type { BinarySource, CacheBreakpoint, Part, ReasoningBlock, TextPart } from '../translate/turn.ts';
import { isToolChange } from './tool-changes.ts';

export function readCacheControl(block: JsonObject): CacheBreakpoint | undefined {
  const raw = objectAt(block, 'cache_control');
  return raw && { family: 'messages', raw };
}

export function readBlocks(content: Json | undefined, at: string, role: string): readonly Part[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (!Array.isArray(content)) return [];
  return content.flatMap((block: Json, index) => {
    if (!isObject(block)) refuse(`${at}[${index}]`, 'A content block must be an object.');
    return isToolChange(block) ? [] : [readBlock(block, `${at}[${index}]`, role)];
  });
}

function readBlock(block: JsonObject, at: string, role: string): Part {
  const cache = readCacheControl(block);
  switch (block.type) {
    case 'text':
      return readText(block, cache);
    case 'image':
      return compact({ type: 'image', source: readSource(objectAt(block, 'source'), at), cache, at });
    case 'document':
      return readDocument(block, cache, at);
    case 'search_result':
      return readSearchResult(block, cache);
    case 'thinking':
      return { type: 'reasoning', reasoning: readThinking(block) };
    case 'redacted_thinking': {
      const redacted = stringAt(block, 'data') ?? '';
      return { type: 'reasoning', reasoning: unpackReasoning(redacted) ?? { origin: 'messages', texts: [], redacted } };
    }
    case 'tool_use':
      return readCall(block, cache, at);
    case 'tool_result':
      return readResult(block, cache, at, role);
  }
  return { type: 'opaque', format: 'messages', past: isPast(block), raw: block, at };
}

/** Notes of the provider about what it has done. */
const NOTES = new Set(['server_tool_use', 'mcp_tool_use', 'mcp_tool_listing', 'fallback', 'compaction']);

function isPast(block: JsonObject): boolean {
  const type = stringAt(block, 'type') ?? '';
  return NOTES.has(type) || type.endsWith('_tool_result');
}

function readText(block: JsonObject, cache: CacheBreakpoint | undefined): TextPart {
  const citations = objectsAt(block, 'citations').map((raw) => ({ format: 'messages', raw }) as const);
  return compact({
    type: 'text',
    text: stringAt(block, 'text') ?? '',
    annotations: citations.length > 0 ? citations : undefined,
    cache,
  });
}

function readSource(source: JsonObject | undefined, at: string): BinarySource {
  const type = source && stringAt(source, 'type');
  const data = source && stringAt(source, 'data');
  if (type === 'base64' && data !== undefined) {
    return { kind: 'base64', mediaType: stringAt(source ?? {}, 'media_type') ?? 'application/octet-stream', data };
  }
  const url = source && stringAt(source, 'url');
  if (type === 'url' && url !== undefined) return { kind: 'url', url };
  const id = source && stringAt(source, 'file_id');
  if (type === 'file' && id !== undefined) return { kind: 'stored', id };
  return refuse(`${at}.source`, `The source type "${String(type)}" is not supported by this model.`);
}

function readDocument(block: JsonObject, cache: CacheBreakpoint | undefined, at: string): Part {
  const source = objectAt(block, 'source');
  const extra = compact({ citations: block.citations, context: block.context });
  const common = {
    name: stringAt(block, 'title'),
    extra: Object.keys(extra).length > 0 ? extra : undefined,
    cache,
    at,
  };
  if (source && source.type === 'text') {
    return compact({ type: 'file', source: { kind: 'text', text: stringAt(source, 'data') ?? '' }, ...common });
  }
  if (source && source.type === 'content') {
    const inner = source.content;
    const texts =
      typeof inner === 'string' ? [inner] : objectsAt(source, 'content').map((part) => stringAt(part, 'text'));
    if (texts.some((text) => text === undefined)) {
      refuse(`${at}.source.content`, 'A document made of images is not supported by this model.');
    }
    return compact({ type: 'file', source: { kind: 'text', text: texts.join('\n') }, ...common });
  }
  return compact({ type: 'file', source: readSource(source, at), ...common });
}

function readSearchResult(block: JsonObject, cache: CacheBreakpoint | undefined): Part {
  const texts = objectsAt(block, 'content').map((part) => stringAt(part, 'text') ?? '');
  const head = [stringAt(block, 'title'), stringAt(block, 'source')].filter((line) => line !== undefined);
  return compact({ type: 'text', text: [...head, ...texts].join('\n'), cache });
}

function readThinking(block: JsonObject): ReasoningBlock {
  const signature = stringAt(block, 'signature') ?? '';
  return unpackReasoning(signature) ?? { origin: 'messages', texts: [stringAt(block, 'thinking') ?? ''], signature };
}

function readCall(block: JsonObject, cache: CacheBreakpoint | undefined, at: string): Part {
  const callId = stringAt(block, 'id');
  const name = stringAt(block, 'name');
  if (callId === undefined || name === undefined) refuse(at, 'A tool_use block needs id and name.');
  const input = JSON.stringify(block.input ?? {});
  return compact({ type: 'tool-call', callId, tool: { kind: 'function', name }, input, cache });
}

function readResult(block: JsonObject, cache: CacheBreakpoint | undefined, at: string, role: string): Part {
  const callId = stringAt(block, 'tool_use_id');
  if (callId === undefined) refuse(`${at}.tool_use_id`, 'A tool_result block needs the id of its call.');
  if (role !== 'user') refuse(at, 'A tool_result block belongs to a user message.');
  const content = readBlocks(block.content, `${at}.content`, role).map((part, index) => {
    if (part.type === 'opaque' && part.raw.type === 'tool_reference') {
      return { type: 'text', text: `Tool: ${String(part.raw.tool_name)}` } as const;
    }
    if (part.type === 'text' || part.type === 'image' || part.type === 'file' || part.type === 'opaque') return part;
    return refuse(`${at}.content[${index}]`, 'A tool result holds text, images or documents for this model.');
  });
  return compact({
    type: 'tool-result',
    callId,
    kind: 'function',
    content,
    isError: block.is_error === true,
    cache,
    at,
  });
}
