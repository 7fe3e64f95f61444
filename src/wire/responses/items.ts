/** Input items of a responses request → parts of the hub. */
import {
  arrayAt,
  compact,
  isObject,
  type Json,
  type JsonObject,
  objectAt,
  objectsAt,
  stringAt,
} from '../../lib/json.ts';
import { refuse } from '../errors.ts';
import { sourceOfUrl } from '../translate/data-url.ts';
import { unpackReasoning } from '../translate/packed-reasoning.ts';
import type {
  BinarySource,
  CacheBreakpoint,
  Part,
  TextPart,
  ToolKind,
  TurnMessage,
  TurnTool,
} from '../translate/turn.ts';
import { readTools, SEARCH_TOOL } from './tools.ts';

interface ReadItem {
  /** Null where the item is not part of the conversation. */
  readonly role: TurnMessage['role'] | null;
  readonly parts: readonly Part[];
  readonly tools: readonly TurnTool[];
  /** Settings that count from this item on. */
  readonly update?: JsonObject;
}

/**
 * Items of what was done before: calls of tools that only this format has, their results, and notes of the provider. The
 * conversation goes on without them.
 */
const PAST_ITEM =
  /_call$|_output$|^(?:mcp_list_tools|mcp_approval_request|mcp_approval_response|program|agent_message|compaction)$/;

export function readItem(value: Json, at: string): ReadItem {
  if (!isObject(value)) refuse(at, 'An input item must be an object.');
  const type = stringAt(value, 'type') ?? 'message';
  switch (type) {
    case 'message':
      return readMessage(value, at);
    case 'function_call':
    case 'custom_tool_call':
      return answer(readCall(value, type === 'function_call' ? 'function' : 'custom', at));
    case 'function_call_output':
    case 'custom_tool_call_output':
      return {
        role: 'user',
        parts: [readResult(value, type === 'function_call_output' ? 'function' : 'custom', at)],
        tools: [],
      };
    case 'reasoning':
      return answer(readReasoning(value));
    case 'additional_tools':
      return { role: null, parts: [], tools: readTools(objectsAt(value, 'tools'), `${at}.tools`) };
    case 'configuration_update':
      return { role: null, parts: [], tools: [], update: value };
    case 'item_reference':
      return refuse(at, 'Item references are not supported by this model: no item is stored. Send the item itself.');
  }
  if (type === 'tool_search_call' && value.execution === 'client') return answer(readSearchCall(value, at));
  if (type === 'tool_search_output' && value.execution === 'client') return readSearchOutput(value, at);
  const part: Part = { type: 'opaque', format: 'responses', past: PAST_ITEM.test(type), raw: value, at };
  return part.past ? answer(part) : { role: 'user', parts: [part], tools: [] };
}

function answer(part: Part): ReadItem {
  return { role: 'assistant', parts: [part], tools: [] };
}

function readMessage(value: JsonObject, at: string): ReadItem {
  const role = stringAt(value, 'role');
  if (role !== 'user' && role !== 'assistant' && role !== 'system' && role !== 'developer') {
    refuse(`${at}.role`, `The role "${String(role)}" is not supported by this model.`);
  }
  const parts = readContent(
    value.content,
    `${at}.content`,
    role === 'assistant' ? (stringAt(value, 'id') ?? at) : undefined,
  );
  return { role, parts, tools: [] };
}

function readContent(content: Json | undefined, at: string, itemId?: string): readonly Part[] {
  if (typeof content === 'string') return [compact({ type: 'text', text: content, itemId })];
  if (!Array.isArray(content)) return [];
  return content.map((part: Json, index) => readPart(part, `${at}[${index}]`, itemId));
}

function readPart(part: Json, at: string, itemId: string | undefined): Part {
  if (!isObject(part)) refuse(at, 'A content part must be an object.');
  const type = stringAt(part, 'type');
  const breakpoint = objectAt(part, 'prompt_cache_breakpoint');
  const cache: CacheBreakpoint | undefined = breakpoint && { family: 'openai', raw: breakpoint };
  if (type === 'input_text' || type === 'output_text' || type === 'text') {
    const annotations = objectsAt(part, 'annotations').map((raw) => ({ format: 'responses', raw }) as const);
    return compact({
      type: 'text',
      text: stringAt(part, 'text') ?? '',
      annotations: annotations.length > 0 ? annotations : undefined,
      cache,
      itemId,
    });
  }
  if (type === 'refusal') return compact({ type, text: stringAt(part, 'refusal') ?? '', itemId });
  if (type === 'input_image') {
    const source = readSource(stringAt(part, 'image_url'), stringAt(part, 'file_id'), at);
    return compact({ type: 'image', source, detail: stringAt(part, 'detail'), cache, at });
  }
  if (type === 'input_file') {
    const source = readSource(stringAt(part, 'file_data') ?? stringAt(part, 'file_url'), stringAt(part, 'file_id'), at);
    return compact({ type: 'file', source, name: stringAt(part, 'filename'), cache, at });
  }
  return { type: 'opaque', format: 'responses', past: false, raw: part, at };
}

function readSource(url: string | undefined, id: string | undefined, at: string): BinarySource {
  if (url !== undefined) return sourceOfUrl(url);
  if (id === undefined) refuse(at, 'An image or file needs a URL or data.');
  return { kind: 'stored', id };
}

function readCall(value: JsonObject, kind: ToolKind, at: string): Part {
  const callId = stringAt(value, 'call_id');
  const name = stringAt(value, 'name');
  if (callId === undefined || name === undefined) refuse(at, 'A tool call needs call_id and name.');
  return compact({
    type: 'tool-call',
    callId,
    tool: compact({ kind, name, namespace: stringAt(value, 'namespace') }),
    input: stringAt(value, kind === 'custom' ? 'input' : 'arguments') ?? '',
    itemId: stringAt(value, 'id'),
  });
}

function readResult(value: JsonObject, kind: ToolKind, at: string): Part {
  const callId = stringAt(value, 'call_id');
  if (callId === undefined) refuse(`${at}.call_id`, 'A tool result needs the id of its call.');
  const content = readContent(value.output, `${at}.output`).map((part, index) => {
    if (part.type === 'text' || part.type === 'image' || part.type === 'file' || part.type === 'opaque') return part;
    return refuse(`${at}.output[${index}]`, 'A tool result holds text, images or files.');
  });
  return { type: 'tool-result', callId, kind, content, isError: false, at };
}

function readReasoning(value: JsonObject): Part {
  const texts = (list: readonly JsonObject[]): string[] => list.map((part) => stringAt(part, 'text') ?? '');
  const encrypted = stringAt(value, 'encrypted_content');
  const packed = encrypted === undefined ? undefined : unpackReasoning(encrypted);
  if (packed) return { type: 'reasoning', reasoning: packed };
  const full = arrayAt(value, 'content') ? texts(objectsAt(value, 'content')) : undefined;
  return {
    type: 'reasoning',
    reasoning: compact({
      origin: 'responses',
      texts: texts(objectsAt(value, 'summary')),
      id: stringAt(value, 'id'),
      encrypted,
      full,
    }),
  };
}

function readSearchCall(value: JsonObject, at: string): Part {
  const callId = stringAt(value, 'call_id');
  if (callId === undefined) refuse(`${at}.call_id`, 'A tool search needs a call_id.');
  const args = value.arguments;
  return compact({
    type: 'tool-call',
    callId,
    tool: { kind: 'search', name: SEARCH_TOOL },
    input: typeof args === 'string' ? args : JSON.stringify(args ?? {}),
    itemId: stringAt(value, 'id'),
  });
}

/** The tools that the client found become tools of the request, and the result that the model reads lists them. */
function readSearchOutput(value: JsonObject, at: string): ReadItem {
  const callId = stringAt(value, 'call_id');
  if (callId === undefined) refuse(`${at}.call_id`, 'A tool search result needs the id of its call.');
  const found = objectsAt(value, 'tools');
  const content: TextPart[] = [{ type: 'text', text: JSON.stringify(found) }];
  return {
    role: 'user',
    parts: [{ type: 'tool-result', callId, kind: 'search', content, isError: false, at }],
    tools: readTools(found, `${at}.tools`),
  };
}
