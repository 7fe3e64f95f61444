/** What the formats share in writing tools, calls and results. */

import { shownName } from '../../core/request-text.ts';
import { isObject, type Json } from '../../lib/json.ts';
import { refuse } from '../errors.ts';
import { InnerValues, parseInner } from '../json/parse-inner.ts';
import { isStrictSchema } from './strict-schema.ts';
import { identityOf, type ToolNames } from './tool-names.ts';
import type {
  ClientTool,
  FilePart,
  ForeignTool,
  OpaquePart,
  ToolCallPart,
  ToolResultPart,
  Turn,
  TurnMessage,
} from './turn.ts';

/** A turn on its way into a target's request. */
export interface WriteContext {
  readonly turn: Turn;
  readonly names: ToolNames;
  readonly warnings: string[];
  /** The turn comes from a client of the target's own format. */
  readonly native: boolean;
}

/** The text of written content that is nothing but one text; null where it is more. */
export function bareText(written: readonly object[]): string | null {
  const [only] = written;
  if (written.length !== 1 || only === undefined || Object.keys(only).length !== 2) return null;
  return 'text' in only ? (only.text as string) : null;
}

/** A custom tool as a function: its free text is the one argument. */
const CUSTOM_SCHEMA = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The input of the tool, as free text.' } },
  required: ['input'],
  additionalProperties: false,
} as const;

/** Of all calls of a conversation: as many as a body has by default. */
const ARGUMENT_VALUES_MAX = 100_000;

const NO_ARGUMENTS: Json = { type: 'object', properties: {} };

export function functionSchema(tool: ClientTool): Json {
  if (tool.kind === 'custom') return CUSTOM_SCHEMA as unknown as Json;
  return isObject(tool.schema) ? tool.schema : NO_ARGUMENTS;
}

/** The description of a namespace stands before that of its first tool, where the target has no namespaces. */
export function functionDescription(tool: ClientTool, isFlattened = true): string | undefined {
  const own = ownDescription(tool);
  const space = isFlattened ? tool.namespaceDescription : undefined;
  return space === undefined || own === undefined ? (own ?? space) : `${space}\n\n${own}`;
}

function ownDescription(tool: ClientTool): string | undefined {
  if (tool.kind !== 'custom' || tool.grammar?.type !== 'grammar') return tool.description;
  const syntax = String(tool.grammar.syntax ?? 'given');
  const rule = `The input must match this ${syntax} grammar:\n${String(tool.grammar.definition ?? '')}`;
  return tool.description === undefined ? rule : `${tool.description}\n\n${rule}`;
}

/**
 * Whether a chat or responses target is asked to hold the arguments to the schema. The messages format does so with
 * optional properties too, which the others refuse.
 */
export function openaiStrict(tool: ClientTool, turn: Turn, warnings: string[]): boolean | undefined {
  if (turn.origin !== 'messages' || tool.strict !== true || isStrictSchema(tool.schema)) return tool.strict;
  warnings.push(
    `${tool.at}.strict: left out, the target takes it only for closed objects whose properties are all required`,
  );
  return undefined;
}

/** Members that a messages client sends beside a document, and no other format has a field for. */
export function warnOfExtras(part: FilePart, warnings: string[]): void {
  for (const name of Object.keys(part.extra ?? {})) warnings.push(`${part.at}.${shownName(name)}: left out`);
}

/** The arguments of a call as JSON text, for a target that knows only functions. */
export function functionArguments(call: ToolCallPart): string {
  if (call.tool.kind === 'custom') return JSON.stringify({ input: call.input });
  return call.input === '' ? '{}' : call.input;
}

/**
 * For targets that hold arguments as objects. They are text within the body, so that its bounds do not hold for what is in
 * them, and are counted before any of them is taken apart.
 */
export function refuseVastArguments({ messages, inputField }: Turn): void {
  const values = new InnerValues();
  for (const { parts } of messages) {
    for (const part of parts) if (part.type === 'tool-call' && part.tool.kind !== 'custom') values.add(part.input);
  }
  if (values.count <= ARGUMENT_VALUES_MAX) return;
  refuse(inputField, `${inputField}: the arguments of its calls have more than ${ARGUMENT_VALUES_MAX} JSON values.`);
}

/** The arguments of a call as an object, for the format that holds them so; a model's broken JSON is kept as text. */
export function argumentsValue(call: ToolCallPart): Json {
  return argumentsObject(functionArguments(call));
}

export function argumentsObject(text: string): Json {
  const value = parseInner(text);
  if (value === null) return {};
  return isObject(value) ? value : { arguments: value ?? text };
}

/** The tools that the target can be given. Hosted tools may be left out while others remain, with a warning. */
export function usableTools(turn: Turn, warnings: string[]): readonly (ClientTool | ForeignTool)[] {
  const others = turn.tools.some(({ kind }) => kind !== 'foreign');
  return turn.tools.filter((tool) => {
    if (tool.kind !== 'foreign') return true;
    const name = String(tool.raw.type ?? tool.raw.name ?? 'unknown');
    if (!tool.hosted) refuse(tool.at, `The tool type "${name}" is not supported by this model.`);
    if (!others) refuse(tool.at, `The hosted tool "${name}" is not supported by this model.`);
    warnings.push(`${tool.at}: the hosted tool "${shownName(name)}" is left out`);
    return false;
  });
}

/** For targets that cannot narrow the choice to some tools: the others are not offered. */
export function allowedTools(
  { toolChoice }: Turn,
  tools: readonly (ClientTool | ForeignTool)[],
): readonly (ClientTool | ForeignTool)[] {
  if (toolChoice?.kind !== 'allowed') return tools;
  const allowed = new Set(toolChoice.tools.map(identityOf));
  return tools.filter((tool) => tool.kind !== 'foreign' && allowed.has(identityOf(tool)));
}

/** For targets that refuse a request without a message, in the words of the client's own request. */
export function refuseEmptyInput({ inputField }: Turn): never {
  refuse(inputField, `${inputField} must not be empty: there is nothing that the model could answer.`);
}

/** A part that the target's format does not know: left out where it is history, refused where it asks for something now. */
export function leaveOut(part: OpaquePart, warnings: string[]): void {
  const name = String(part.raw.type ?? 'unknown');
  if (!part.past) refuse(part.at, `"${name}" is not supported by this model.`);
  warnings.push(`${part.at}: "${shownName(name)}" is left out`);
}

/** A file that the target cannot take, likewise. `why`: as a clause. */
export function leaveOutFile({ at, past }: FilePart, why: string, warnings: string[]): void {
  if (past !== true) refuse(at, `${why[0]?.toUpperCase()}${why.slice(1)}.`);
  warnings.push(`${at}: left out, ${why}`);
}

/** The text of a failed result says so, for formats without a field for it. */
export function markError(result: ToolResultPart, text: string): string {
  return result.isError && !/^\s*error/i.test(text) ? `Error: ${text}` : text;
}

/**
 * Results directly behind the message that made the calls, as the chat and messages formats require; what stood
 * between them follows. Nothing is lost and nothing else moves.
 */
export function groupToolResults(messages: readonly TurnMessage[]): readonly TurnMessage[] {
  const out: TurnMessage[] = [];
  let held: TurnMessage[] = [];
  let open = new Set<string>();
  for (const message of messages) {
    if (message.role === 'assistant') {
      out.push(...held, message);
      held = [];
      open = new Set(message.parts.flatMap((part) => (part.type === 'tool-call' ? [part.callId] : [])));
    } else if (open.size === 0) {
      out.push(...held, message);
      held = [];
    } else {
      const results = message.parts.filter((part) => part.type === 'tool-result');
      const rest = message.parts.filter((part) => part.type !== 'tool-result');
      if (results.length > 0) out.push({ ...message, parts: results });
      if (rest.length > 0 || results.length === 0) held.push({ ...message, parts: rest });
      for (const result of results) if (result.type === 'tool-result') open.delete(result.callId);
    }
  }
  return [...out, ...held];
}

/** Ids of providers' own making pass unchanged; the messages format takes only these characters. */
export function messagesCallId(callId: string): string {
  return callId.replace(/[^a-zA-Z0-9_-]/g, '_') || 'call';
}
