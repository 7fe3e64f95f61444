/**
 * Responses, items and parts with every field that the Open Responses schemas require. What a provider has left out, or
 * has set to null where the schemas want a value, is filled in from the request or with the default; everything that it
 * has said stays. An object that lacks nothing is returned as it is.
 */
import { arrayAt, isObject, type Json, type JsonObject, objectAt, stringAt } from '../../lib/json.ts';

/** The members that a response repeats of its request, and what else is known of it. */
export interface CompletionContext {
  readonly request: JsonObject;
  /** As it was sent upstream; null before that. */
  readonly outputLimit: number | null;
  readonly nowS: () => number;
}

/** The members of a response that may be null. */
const NULLABLE: ReadonlySet<string> = new Set([
  'completed_at',
  'error',
  'incomplete_details',
  'instructions',
  'max_output_tokens',
  'max_tool_calls',
  'previous_response_id',
  'prompt_cache_key',
  'reasoning',
  'safety_identifier',
  'usage',
  'user',
]);

/** The members of the response that come from the request, with the default where it has none. */
export function requestedFields({ request, outputLimit }: CompletionContext): JsonObject {
  const given = (name: string, otherwise: Json): Json => request[name] ?? otherwise;
  return {
    background: false,
    frequency_penalty: given('frequency_penalty', 0),
    instructions: given('instructions', null),
    max_output_tokens: outputLimit ?? given('max_output_tokens', null),
    max_tool_calls: given('max_tool_calls', null),
    metadata: given('metadata', {}),
    parallel_tool_calls: given('parallel_tool_calls', true),
    presence_penalty: given('presence_penalty', 0),
    previous_response_id: given('previous_response_id', null),
    prompt_cache_key: given('prompt_cache_key', null),
    reasoning: completeReasoning(objectAt(request, 'reasoning') ?? {}),
    safety_identifier: given('safety_identifier', null),
    service_tier: given('service_tier', 'default'),
    store: given('store', false),
    temperature: given('temperature', 1),
    text: completeText({ verbosity: 'medium', ...objectAt(request, 'text') }),
    tool_choice: given('tool_choice', 'auto'),
    tools: (arrayAt(request, 'tools') ?? []).map(completeTool),
    top_logprobs: given('top_logprobs', 0),
    top_p: given('top_p', 1),
    truncation: given('truncation', 'disabled'),
    user: given('user', null),
  };
}

/** `known`: what earlier events of the same stream said of it. */
export function completeResponse(response: JsonObject, context: CompletionContext, known: JsonObject = {}): JsonObject {
  const status = stringAt(response, 'status') ?? 'completed';
  const filled = withDefaults(response, NULLABLE, () => ({
    ...requestedFields(context),
    object: 'response',
    status,
    completed_at: status === 'completed' ? context.nowS() : null,
    created_at: context.nowS(),
    error: null,
    incomplete_details: null,
    model: '',
    output: [],
    usage: null,
    ...known,
  }));
  return replaced(filled, {
    output: (output) => mapped(output, (item, index) => completeItem(item, `${index}`, itemStatus(status))),
    reasoning: (reasoning) => (isObject(reasoning) ? completeReasoning(reasoning) : reasoning),
    text: (text) => (isObject(text) ? completeText(text) : text),
    tools: (tools) => mapped(tools, completeTool),
    usage: (usage) => (isObject(usage) ? completeUsage(usage) : usage),
  });
}

/** `fallbackId` names an item that has no id of its own. */
export function completeItem(item: Json, fallbackId: string, status: string): Json {
  if (!isObject(item)) return item;
  switch (item.type) {
    case 'message':
      return replaced(
        withDefaults(item, NONE, () => ({ id: `msg_${fallbackId}`, status, role: 'assistant', content: [] })),
        { content: (content) => mapped(content, completePart) },
      );
    case 'function_call':
      return withDefaults(item, NONE, () => ({
        id: `fc_${fallbackId}`,
        call_id: stringAt(item, 'id') ?? `call_${fallbackId}`,
        name: '',
        arguments: '',
        status,
      }));
    case 'reasoning': {
      const filled = withDefaults(item, NULLABLE_REASONING, () => ({ id: `rs_${fallbackId}`, summary: [] }));
      return withoutNulls(filled, 'content', 'encrypted_content');
    }
    default:
      return item;
  }
}

export function completePart(part: Json): Json {
  if (!isObject(part)) return part;
  switch (part.type) {
    case 'output_text':
      return withDefaults(part, NONE, () => ({ text: '', annotations: [], logprobs: [] }));
    case 'refusal':
      return withDefaults(part, NONE, () => ({ refusal: '' }));
    case 'summary_text':
    case 'reasoning_text':
      return withDefaults(part, NONE, () => ({ text: '' }));
    default:
      return part;
  }
}

function completeTool(tool: Json): Json {
  if (!isObject(tool) || tool.type !== 'function') return tool;
  return withDefaults(tool, NULLABLE_TOOL, () => ({ description: null, parameters: null, strict: null }));
}

function completeText(text: JsonObject): JsonObject {
  return replaced(
    withDefaults(text, NONE, () => ({ format: { type: 'text' } })),
    {
      format: (format) =>
        isObject(format) && format.type === 'json_schema'
          ? withDefaults(format, NULLABLE_TOOL, () => ({ description: null, strict: false }))
          : format,
    },
  );
}

function completeReasoning(reasoning: JsonObject): JsonObject {
  return withDefaults(reasoning, NULLABLE_EFFORT, () => ({ effort: null, summary: null }));
}

function completeUsage(usage: JsonObject): JsonObject {
  const filled = withDefaults(usage, NONE, () => ({
    input_tokens: 0,
    output_tokens: 0,
    total_tokens: Number(usage.input_tokens ?? 0) + Number(usage.output_tokens ?? 0),
    input_tokens_details: {},
    output_tokens_details: {},
  }));
  return replaced(filled, {
    input_tokens_details: (details) =>
      withDefaults(isObject(details) ? details : {}, NONE, () => ({ cached_tokens: 0, cache_write_tokens: 0 })),
    output_tokens_details: (details) =>
      withDefaults(isObject(details) ? details : {}, NONE, () => ({ reasoning_tokens: 0 })),
  });
}

const NONE: ReadonlySet<string> = new Set();
const NULLABLE_TOOL: ReadonlySet<string> = new Set(['description', 'parameters', 'strict']);
const NULLABLE_EFFORT: ReadonlySet<string> = new Set(['effort', 'summary']);
const NULLABLE_REASONING: ReadonlySet<string> = new Set(['content', 'encrypted_content']);

/** An item of a response that has ended is complete, or was cut off. */
function itemStatus(response: string): string {
  return response === 'completed' || response === 'in_progress' ? response : 'incomplete';
}

function withDefaults(value: JsonObject, nullable: ReadonlySet<string>, make: () => JsonObject): JsonObject {
  const defaults = make();
  let filled: Record<string, Json | undefined> | null = null;
  for (const [name, otherwise] of Object.entries(defaults)) {
    const member = value[name];
    if (member !== undefined && (member !== null || nullable.has(name))) continue;
    filled ??= { ...value };
    filled[name] = otherwise;
  }
  return filled ?? value;
}

/** The object with these members replaced, itself where none of them has changed. */
function replaced(value: JsonObject, members: Readonly<Record<string, (member: Json) => Json>>): JsonObject {
  let changed: Record<string, Json | undefined> | null = null;
  for (const [name, replace] of Object.entries(members)) {
    const before = value[name];
    if (before === undefined) continue;
    const after = replace(before);
    if (after === before) continue;
    changed ??= { ...value };
    changed[name] = after;
  }
  return changed ?? value;
}

function mapped(value: Json, change: (item: Json, index: number) => Json): Json {
  if (!Array.isArray(value)) return value;
  const items: readonly Json[] = value;
  const changed = items.map(change);
  return changed.every((item, index) => item === items[index]) ? value : changed;
}

function withoutNulls(value: JsonObject, ...names: readonly string[]): JsonObject {
  if (!names.some((name) => value[name] === null)) return value;
  return Object.fromEntries(Object.entries(value).filter(([name, member]) => member !== null || !names.includes(name)));
}
