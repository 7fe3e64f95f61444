/** The hub → a messages request. */

import { compact, type Json } from '../../lib/json.ts';
import { refuse } from '../errors.ts';
import { JSON_OBJECT_INSTRUCTION } from '../translate/json-object.ts';
import { takenByMessages } from '../translate/stop-sequences.ts';
import { enforcedSchema } from '../translate/strict-schema.ts';
import type { ToolNames } from '../translate/tool-names.ts';
import {
  allowedTools,
  functionDescription,
  functionSchema,
  groupToolResults,
  refuseEmptyInput,
  refuseVastArguments,
  usableTools,
  type WriteContext,
} from '../translate/tools.ts';
import type {
  ClientTool,
  ForeignTool,
  Part,
  TargetTraits,
  TextPart,
  ToolChoice,
  Turn,
  TurnMessage,
  WrittenTurn,
} from '../translate/turn.ts';
import { writeSampling } from './sampling.ts';
import { writeThinking } from './thinking.ts';
import { writeCacheControl, writePart, writeText } from './write-blocks.ts';

export function messagesFromTurn(turn: Turn, traits: TargetTraits, names: ToolNames): WrittenTurn {
  const warnings = [...turn.warnings];
  const writing: WriteContext = { turn, names, warnings, native: turn.origin === 'messages' };
  const tools = allowedTools(turn, usableTools(turn, warnings));
  if (!writing.native) refuseVastArguments(turn);
  const { system, messages } = splitSystem(turn, writing);
  const toolChoice = tools.length > 0 ? writeToolChoice(turn, writing) : undefined;
  const asksForJsonObject = turn.settings.output?.kind === 'json';
  const instruction: readonly TextPart[] = asksForJsonObject ? [{ type: 'text', text: JSON_OBJECT_INSTRUCTION }] : [];
  const merged = mergeRoles(messages, writing);
  if (merged.length === 0) refuseEmptyInput(turn);
  const body = compact({
    system: writeSystem([...system, ...instruction]),
    messages: merged,
    tools: tools.length > 0 ? tools.map((tool) => writeTool(tool, writing)) : undefined,
    tool_choice: toolChoice,
    ...writeSettings(writing, traits),
    stream: turn.stream ? true : undefined,
  });
  return { body, warnings, usesOutputLimit: turn.settings.reasoning !== undefined, asksForJsonObject };
}

/** Instructions before the first message are the system prompt; the format has no place for them later on. */
function splitSystem(
  turn: Turn,
  writing: WriteContext,
): { system: readonly TextPart[]; messages: readonly TurnMessage[] } {
  const settled = writing.native ? turn.messages : groupToolResults(turn.messages);
  const system: TextPart[] = [...turn.instructions];
  let first = 0;
  for (const message of writing.native ? [] : settled) {
    if (message.role !== 'system' && message.role !== 'developer') break;
    system.push(...message.parts.filter((part): part is TextPart => part.type === 'text'));
    first++;
  }
  const messages = settled.slice(first);
  // A request must hold a message: a prompt that is only a system prompt is asked as the user's.
  if (messages.length === 0 && system.length > 0) {
    return { system: [], messages: [{ role: 'user', parts: system, at: 'messages[0]' }] };
  }
  return { system, messages };
}

function writeSystem(parts: readonly TextPart[]): unknown {
  const texts = parts.filter((part) => part.text !== '');
  if (texts.length === 0) return undefined;
  const [only] = texts;
  return texts.length === 1 && only && !only.cache ? only.text : texts.map(writeText);
}

/** One message per change of role, tool results first, as the format asks for. */
function mergeRoles(messages: readonly TurnMessage[], writing: WriteContext): unknown[] {
  const merged: { role: string; parts: Part[] }[] = [];
  for (const message of messages) {
    if (message.name !== undefined) writing.warnings.push(`${message.at}.name: left out`);
    const { role, parts } = inRole(message, writing);
    const last = merged.at(-1);
    if (last && last.role === role) last.parts.push(...parts);
    else merged.push({ role, parts: [...parts] });
  }
  return merged.flatMap(({ role, parts }) => {
    const ordered =
      role === 'user'
        ? [
            ...parts.filter((part) => part.type === 'tool-result'),
            ...parts.filter((part) => part.type !== 'tool-result'),
          ]
        : parts;
    const content = ordered.flatMap((part) => writePart(part, writing));
    if (content.length === 0) return [];
    const [only] = content;
    const bare = content.length === 1 && only && 'text' in only && Object.keys(only).length === 2;
    return [{ role, content: bare ? only.text : content }];
  });
}

function inRole(message: TurnMessage, writing: WriteContext): { role: string; parts: readonly Part[] } {
  if (message.role === 'user' || message.role === 'assistant' || writing.native) return message;
  writing.warnings.push(`${message.at}: a ${message.role} message inside the conversation is said by the user`);
  const parts = message.parts.map((part) =>
    part.type === 'text' ? { ...part, text: `<system>\n${part.text}\n</system>` } : part,
  );
  return { role: 'user', parts };
}

function writeTool(tool: ClientTool | ForeignTool, writing: WriteContext): unknown {
  if (tool.kind === 'foreign') return tool.raw;
  return compact({
    name: writing.names.out(tool),
    description: functionDescription(tool),
    input_schema: writeSchema(tool, writing),
    strict: tool.strict === true && tool.kind === 'function' ? true : undefined,
    cache_control: writeCacheControl(tool.cache),
  });
}

function writeSchema(tool: ClientTool, { native, warnings }: WriteContext): unknown {
  const schema = functionSchema(tool);
  if (native || tool.strict !== true) return objectSchema(schema);
  return objectSchema(enforceable(schema, tool.at, warnings));
}

/** The schema as the format enforces it; what it cannot enforce is said in words. */
function enforceable(schema: Json, at: string, warnings: string[]): Json {
  const moved = new Set<string>();
  const enforced = enforcedSchema(schema, moved);
  if (moved.size > 0) {
    warnings.push(`${at}: said in descriptions, because the target does not enforce it: ${[...moved].join(', ')}`);
  }
  return enforced;
}

/** The format wants `type: object` at the top; a schema without a type means the same. */
function objectSchema(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null || 'type' in schema) return schema;
  return { type: 'object', ...schema };
}

function writeToolChoice(turn: Turn, writing: WriteContext): unknown {
  const { parallelToolCalls } = turn.settings;
  const disable = parallelToolCalls === undefined ? {} : { disable_parallel_tool_use: !parallelToolCalls };
  const choice: ToolChoice = turn.toolChoice ?? { kind: 'auto' };
  switch (choice.kind) {
    case 'none':
      return { type: 'none' };
    case 'required':
      return { type: 'any', ...disable };
    case 'tool':
      return { type: 'tool', name: writing.names.out(choice.tool), ...disable };
    case 'allowed':
      return { type: choice.mode === 'required' ? 'any' : 'auto', ...disable };
    case 'foreign':
      return writing.native ? choice.raw : refuse('tool_choice', 'This tool choice is not supported by this model.');
    case 'auto':
      return turn.toolChoice || parallelToolCalls === false ? { type: 'auto', ...disable } : undefined;
  }
}

function writeSettings(writing: WriteContext, traits: TargetTraits): object {
  const { turn, warnings } = writing;
  const { settings } = turn;
  if (settings.logprobs === true) {
    refuse(turn.origin === 'chat' ? 'logprobs' : 'include', 'Log probabilities are not supported by this model.');
  }
  if (settings.moderation !== undefined) refuse('moderation', 'Moderation is not supported by this model.');
  warnUnsupported(writing);
  const thinking = writeThinking(turn, traits, warnings);
  const format = writeFormat(turn, warnings);
  const output = compact({ effort: thinking.effort, format });
  const stop = turn.origin === 'messages' ? (settings.stop ?? []) : takenByMessages(settings.stop ?? []);
  return {
    ...(thinking.derived ? {} : writeSampling(turn, traits.sampling ?? 'all', warnings)),
    stop_sequences: stop.length > 0 ? stop : undefined,
    thinking: thinking.thinking,
    output_config: Object.keys(output).length > 0 ? output : undefined,
    metadata: writeMetadata(turn),
    service_tier: writeTier(settings.serviceTier),
    cache_control: writeCacheControl(settings.cache),
  };
}

function warnUnsupported({ turn, warnings }: WriteContext): void {
  const { settings } = turn;
  const without = {
    seed: settings.seed,
    frequency_penalty: settings.frequencyPenalty,
    presence_penalty: settings.presencePenalty,
    logit_bias: settings.logitBias,
    verbosity: settings.verbosity,
    metadata: settings.metadata,
  };
  for (const [name, value] of Object.entries(without)) {
    if (value !== undefined && value !== 0) warnings.push(`${name}: left out, the messages format has no such field`);
  }
}

function writeFormat(turn: Turn, warnings: string[]): object | undefined {
  const { output } = turn.settings;
  if (output?.kind !== 'schema') return undefined;
  const at = turn.origin === 'chat' ? 'response_format' : 'text.format';
  const schema = turn.origin === 'messages' ? output.schema : enforceable(output.schema, at, warnings);
  return { type: 'json_schema', schema };
}

function writeMetadata(turn: Turn): object | undefined {
  const id = turn.settings.user ?? turn.settings.safetyIdentifier;
  return id === undefined ? undefined : { user_id: id };
}

const TIERS: Readonly<Record<string, string>> = { auto: 'auto', default: 'standard_only' };

function writeTier(tier: string | undefined): string | undefined {
  if (tier === undefined) return undefined;
  return TIERS[tier] ?? refuse('service_tier', `The service tier "${tier}" is not supported by this model.`);
}
