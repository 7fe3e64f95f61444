/** A chat-completions request → the hub. */
import {
  arrayAt,
  booleanAt,
  compact,
  isObject,
  type Json,
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  stringAt,
} from '../../lib/json.ts';
import { refuse } from '../errors.ts';
import { generatedTexts } from '../generated-text.ts';
import { sourceOfUrl } from '../translate/data-url.ts';
import { withHistory } from '../translate/history.ts';
import { readChoice, readCommonSettings, readShape } from '../translate/openai.ts';
import type {
  CacheBreakpoint,
  OpaquePart,
  OutputShape,
  Part,
  ToolChoice,
  ToolKind,
  ToolRef,
  Turn,
  TurnMessage,
  TurnSettings,
  TurnTool,
} from '../translate/turn.ts';

export function chatToTurn(body: JsonObject): Turn {
  refuseWhatNoOtherFormatKnows(body);
  const warnings: string[] = [];
  const kinds = new Map<string, ToolKind>();
  const messages = (arrayAt(body, 'messages') ?? []).map((message, index) => readMessage(message, index, kinds));
  if (isObject(body.prediction)) warnings.push('prediction: left out, it only speeds up the answer');
  return {
    origin: 'chat',
    inputField: 'messages',
    instructions: [],
    messages: withHistory(messages),
    tools: objectsAt(body, 'tools').map(readTool),
    toolChoice: readToolChoice(body.tool_choice),
    settings: readSettings(body),
    stream: body.stream === true,
    includeUsage: booleanAt(objectAt(body, 'stream_options') ?? {}, 'include_usage') === true,
    warnings,
  };
}

function refuseWhatNoOtherFormatKnows(body: JsonObject): void {
  if ((numberAt(body, 'n') ?? 1) > 1) refuse('n', 'This model gives one answer per request: n must be 1.');
  if (Array.isArray(body.modalities) && body.modalities.some((modality) => modality !== 'text')) {
    refuse('modalities', 'This model answers with text only.');
  }
  if (isObject(body.audio)) refuse('audio', 'This model answers with text only.');
  for (const name of ['functions', 'function_call'] as const) {
    if (body[name] !== undefined && body[name] !== null)
      refuse(name, `Use "tools" instead of "${name}" with this model.`);
  }
  if (isObject(body.web_search_options)) {
    refuse('web_search_options', 'The hosted web search is not supported by this model.');
  }
}

function readMessage(value: Json, index: number, kinds: Map<string, ToolKind>): TurnMessage {
  const at = `messages[${index}]`;
  if (!isObject(value)) refuse(at, 'A message must be an object.');
  const role = stringAt(value, 'role');
  const name = stringAt(value, 'name');
  if (role === 'function') return { role: 'assistant', parts: [past('function', at)], at };
  if (role === 'tool') return { role: 'user', parts: [readResult(value, at, kinds)], at };
  if (role === 'system' || role === 'developer' || role === 'user') {
    return compact({ role, parts: readContent(value.content, `${at}.content`), name, at });
  }
  if (role !== 'assistant') refuse(`${at}.role`, `The role "${String(role)}" is not supported by this model.`);
  return compact({ role, parts: readAssistant(value, at, kinds), name, at });
}

function readAssistant(value: JsonObject, at: string, kinds: Map<string, ToolKind>): readonly Part[] {
  const parts: Part[] = [];
  const reasoning = stringAt(value, 'reasoning_content') ?? stringAt(value, 'reasoning');
  if (reasoning !== undefined) parts.push({ type: 'reasoning', reasoning: { origin: 'chat', texts: [reasoning] } });
  parts.push(...readContent(value.content, `${at}.content`).map(asReasoning));
  const refusal = stringAt(value, 'refusal');
  if (refusal !== undefined) parts.push({ type: 'refusal', text: refusal });
  for (const [index, call] of objectsAt(value, 'tool_calls').entries()) {
    const custom = objectAt(call, 'custom');
    const details = custom ?? objectAt(call, 'function');
    const name = details && stringAt(details, 'name');
    const callId = stringAt(call, 'id');
    if (!details || name === undefined || callId === undefined) {
      refuse(`${at}.tool_calls[${index}]`, 'A tool call needs an id and a function with a name.');
    }
    const kind: ToolKind = custom ? 'custom' : 'function';
    kinds.set(callId, kind);
    const input = stringAt(details, custom ? 'input' : 'arguments') ?? '';
    parts.push({ type: 'tool-call', callId, tool: { kind, name }, input });
  }
  for (const name of ['function_call', 'audio'] as const) {
    if (isObject(value[name])) parts.push(past(name, `${at}.${name}`));
  }
  return parts;
}

/** What an answer had, and only this format has. */
function past(type: string, at: string): OpaquePart {
  return { type: 'opaque', format: 'chat', past: true, raw: { type }, at };
}

/** Mistral's models think in parts of their answers. */
function asReasoning(part: Part): Part {
  if (part.type !== 'opaque' || part.raw.type !== 'thinking') return part;
  return { type: 'reasoning', reasoning: { origin: 'chat', texts: [generatedTexts(part.raw).join('')] } };
}

function readResult(value: JsonObject, at: string, kinds: ReadonlyMap<string, ToolKind>): Part {
  const callId = stringAt(value, 'tool_call_id');
  if (callId === undefined) refuse(`${at}.tool_call_id`, 'A tool message needs the id of its call.');
  const content = readContent(value.content, `${at}.content`).map((part, index) => {
    if (part.type === 'text' || part.type === 'image' || part.type === 'file' || part.type === 'opaque') return part;
    return refuse(`${at}.content[${index}]`, 'A tool result holds text, images or files.');
  });
  return { type: 'tool-result', callId, kind: kinds.get(callId) ?? 'function', content, isError: false, at };
}

function readContent(content: Json | undefined, at: string): readonly Part[] {
  if (content === undefined || content === null) return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (!Array.isArray(content)) refuse(at, 'Content must be a string or a list of parts.');
  return content.map((part: Json, index) => readPart(part, `${at}[${index}]`));
}

function readPart(part: Json, at: string): Part {
  if (!isObject(part)) refuse(at, 'A content part must be an object.');
  const cache = readCache(part);
  const type = stringAt(part, 'type');
  if (type === 'text') return compact({ type, text: stringAt(part, 'text') ?? '', cache });
  if (type === 'refusal') return { type, text: stringAt(part, 'refusal') ?? '' };
  if (type === 'image_url') {
    const image = objectAt(part, 'image_url');
    const url = image ? stringAt(image, 'url') : stringAt(part, 'image_url');
    if (url === undefined) refuse(`${at}.image_url.url`, 'An image needs a URL.');
    return compact({ type: 'image', source: sourceOfUrl(url), detail: image && stringAt(image, 'detail'), cache, at });
  }
  if (type === 'file') {
    const file = objectAt(part, 'file') ?? {};
    const id = stringAt(file, 'file_id');
    const data = stringAt(file, 'file_data');
    if (id === undefined && data === undefined) refuse(`${at}.file`, 'A file needs file_data.');
    const source = data === undefined ? ({ kind: 'stored', id: id ?? '' } as const) : sourceOfUrl(data);
    return compact({ type: 'file', source, name: stringAt(file, 'filename'), cache, at });
  }
  return { type: 'opaque', format: 'chat', past: false, raw: part, at };
}

function readCache(part: JsonObject): CacheBreakpoint | undefined {
  const raw = objectAt(part, 'prompt_cache_breakpoint');
  return raw && { family: 'openai', raw };
}

function readTool(tool: JsonObject, index: number): TurnTool {
  const at = `tools[${index}]`;
  const details = objectAt(tool, 'function') ?? objectAt(tool, 'custom');
  const name = details && stringAt(details, 'name');
  if (tool.type === 'function' && details && name !== undefined) {
    return compact({
      kind: 'function',
      name,
      description: stringAt(details, 'description'),
      schema: details.parameters,
      strict: booleanAt(details, 'strict'),
      at,
    });
  }
  if (tool.type === 'custom' && details && name !== undefined) {
    const format = objectAt(details, 'format');
    const grammar = format && { ...objectAt(format, 'grammar'), type: format.type };
    return compact({ kind: 'custom', name, description: stringAt(details, 'description'), grammar, at });
  }
  return { kind: 'foreign', format: 'chat', hosted: false, raw: tool, at };
}

function readToolChoice(value: Json | undefined): ToolChoice | null {
  return readChoice('chat', value, readRef, (choice) => objectAt(choice, 'allowed_tools'));
}

function readRef(value: JsonObject): ToolRef | undefined {
  const kind = value.type === 'custom' ? 'custom' : 'function';
  const name = stringAt(objectAt(value, kind) ?? {}, 'name');
  return name === undefined ? undefined : { kind, name };
}

function readSettings(body: JsonObject): TurnSettings {
  const stop = body.stop;
  const effort = stringAt(body, 'reasoning_effort');
  return compact({
    ...readCommonSettings(body),
    topK: numberAt(body, 'top_k'),
    stop: typeof stop === 'string' ? [stop] : Array.isArray(stop) ? stop.map(String) : undefined,
    seed: numberAt(body, 'seed'),
    frequencyPenalty: numberAt(body, 'frequency_penalty'),
    presencePenalty: numberAt(body, 'presence_penalty'),
    logitBias: objectAt(body, 'logit_bias'),
    logprobs: booleanAt(body, 'logprobs'),
    output: readOutput(objectAt(body, 'response_format')),
    verbosity: stringAt(body, 'verbosity'),
    reasoning: effort === undefined ? undefined : { effort },
  });
}

function readOutput(format: JsonObject | undefined): OutputShape | undefined {
  return readShape(format, format && objectAt(format, 'json_schema'), (type) =>
    refuse('response_format', `The response format "${type}" is not supported by this model.`),
  );
}
