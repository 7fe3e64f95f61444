/** A messages request → the hub. */
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
  stringsAt,
} from '../../lib/json.ts';
import { refuse } from '../errors.ts';
import { withHistory } from '../translate/history.ts';
import { isStrictSchema } from '../translate/strict-schema.ts';
import type {
  OutputShape,
  Part,
  ReasoningSettings,
  TextPart,
  ToolChoice,
  Turn,
  TurnMessage,
  TurnSettings,
  TurnTool,
} from '../translate/turn.ts';
import { readBlocks, readCacheControl } from './blocks.ts';
import { toolsInEffect } from './tool-changes.ts';

export function messagesToTurn(body: JsonObject): Turn {
  refuseWhatNoOtherFormatKnows(body);
  const warnings = warningsOf(body);
  const tools = objectsAt(body, 'tools').map((tool, index) => readTool(tool, `tools[${index}]`));
  return {
    origin: 'messages',
    inputField: 'messages',
    instructions: readSystem(body.system),
    messages: readMessages(arrayAt(body, 'messages') ?? []),
    tools: toolsInEffect(tools, body, readTool, warnings),
    toolChoice: readToolChoice(objectAt(body, 'tool_choice')),
    settings: readSettings(body),
    stream: body.stream === true,
    includeUsage: true,
    warnings,
  };
}

function warningsOf(body: JsonObject): string[] {
  const without = {
    context_management: body.context_management,
    diagnostics: body.diagnostics,
    'output_config.task_budget': objectAt(body, 'output_config')?.task_budget,
    'thinking.block_binding': objectAt(body, 'thinking')?.block_binding,
  };
  return Object.entries(without).flatMap(([name, value]) =>
    isObject(value) ? [`${name}: left out, the target has no counterpart`] : [],
  );
}

function refuseWhatNoOtherFormatKnows(body: JsonObject): void {
  if (objectAt(body, 'compaction')) {
    refuse('compaction', 'This model cannot be asked to compact a conversation. Ask it for a summary instead.');
  }
  if ((arrayAt(body, 'mcp_servers') ?? []).length > 0) {
    refuse('mcp_servers', 'Remote tool servers are not supported by this model.');
  }
  if (body.speed === 'fast') refuse('speed', 'The fast mode is not supported by this model.');
}

function readSystem(system: Json | undefined): readonly TextPart[] {
  if (typeof system === 'string') return system === '' ? [] : [{ type: 'text', text: system }];
  return readBlocks(system, 'system', 'user').map((part, index) =>
    part.type === 'text' ? part : refuse(`system[${index}]`, 'The system prompt holds text only.'),
  );
}

/** What a compaction has summarised is not said again: its summary stands for everything before it. */
function readMessages(messages: readonly Json[]): readonly TurnMessage[] {
  const read = messages.map(readMessage);
  const index = read.findLastIndex(({ parts }) => parts.some((part) => summaryIn(part) !== undefined));
  const holder = read[index];
  if (holder === undefined) return withHistory(read.filter(isSaid));
  const place = holder.parts.findLastIndex((part) => summaryIn(part) !== undefined);
  const text = `Summary of the conversation so far:\n\n${summaryIn(holder.parts[place])}`;
  const summary: TurnMessage = { role: 'user', parts: [{ type: 'text', text }], at: holder.at };
  const rest = { ...holder, parts: holder.parts.slice(place + 1) };
  return [summary, ...withHistory([rest, ...read.slice(index + 1)].filter(isSaid))];
}

function summaryIn(part: Part | undefined): string | undefined {
  if (part?.type !== 'opaque' || part.raw.type !== 'compaction') return undefined;
  return stringAt(part.raw, 'content') || undefined;
}

/** A message of nothing but changes of the tools says nothing. */
function isSaid({ parts }: TurnMessage): boolean {
  return parts.length > 0;
}

function readMessage(value: Json, index: number): TurnMessage {
  const at = `messages[${index}]`;
  if (!isObject(value)) refuse(at, 'A message must be an object.');
  const role = stringAt(value, 'role');
  if (role !== 'user' && role !== 'assistant' && role !== 'system') {
    refuse(`${at}.role`, `The role "${String(role)}" is not supported by this model.`);
  }
  return { role, parts: readBlocks(value.content, `${at}.content`, role), at };
}

/** Tools that the provider runs, by how their versioned types begin. */
const HOSTED = ['web_search', 'web_fetch', 'code_execution', 'tool_search_tool', 'mcp_toolset', 'advisor'];

function readTool(tool: JsonObject, at: string): TurnTool {
  const type = stringAt(tool, 'type') ?? 'custom';
  const name = stringAt(tool, 'name');
  if (type !== 'custom' || name === undefined) {
    const hosted = HOSTED.some((prefix) => type.startsWith(prefix));
    return { kind: 'foreign', format: 'messages', hosted, raw: tool, at };
  }
  return compact({
    kind: 'function',
    name,
    description: stringAt(tool, 'description'),
    schema: tool.input_schema,
    strict: booleanAt(tool, 'strict'),
    cache: readCacheControl(tool),
    at,
  });
}

function readToolChoice(choice: JsonObject | undefined): ToolChoice | null {
  if (!choice) return null;
  const type = stringAt(choice, 'type');
  if (type === 'auto' || type === 'none') return { kind: type };
  if (type === 'any') return { kind: 'required' };
  const name = stringAt(choice, 'name');
  if (type === 'tool' && name !== undefined) return { kind: 'tool', tool: { kind: 'function', name } };
  return { kind: 'foreign', format: 'messages', raw: choice };
}

const TIERS: Readonly<Record<string, string>> = { auto: 'auto', standard_only: 'default' };

function readSettings(body: JsonObject): TurnSettings {
  const output = objectAt(body, 'output_config') ?? {};
  const format = objectAt(output, 'format') ?? objectAt(body, 'output_format');
  const choice = objectAt(body, 'tool_choice') ?? {};
  const tier = stringAt(body, 'service_tier');
  const parallel = booleanAt(choice, 'disable_parallel_tool_use');
  return compact({
    temperature: numberAt(body, 'temperature'),
    topP: numberAt(body, 'top_p'),
    topK: numberAt(body, 'top_k'),
    stop: stringsAt(body, 'stop_sequences'),
    output: format && readOutput(format.schema ?? {}),
    reasoning: readReasoning(objectAt(body, 'thinking'), stringAt(output, 'effort')),
    parallelToolCalls: parallel === undefined ? undefined : !parallel,
    user: stringAt(objectAt(body, 'metadata') ?? {}, 'user_id'),
    serviceTier: tier === undefined ? undefined : (TIERS[tier] ?? tier),
    cache: readCacheControl(body),
  });
}

function readReasoning(thinking: JsonObject | undefined, effort: string | undefined): ReasoningSettings | undefined {
  if (!thinking && effort === undefined) return undefined;
  return compact({
    effort,
    thinking: thinking && stringAt(thinking, 'type'),
    budgetTokens: thinking && numberAt(thinking, 'budget_tokens'),
    display: thinking && stringAt(thinking, 'display'),
  });
}

/**
 * The format always holds an answer to its schema and has no field that says so; the others take `strict` only with a
 * schema that names every property as required.
 */
function readOutput(schema: Json): OutputShape {
  return compact({ kind: 'schema', schema, strict: isStrictSchema(schema) ? true : undefined });
}
