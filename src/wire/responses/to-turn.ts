/** A responses request → the hub. */
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
import { readChoice, readCommonSettings, readShape } from '../translate/openai.ts';
import type {
  OutputShape,
  Part,
  ToolChoice,
  ToolRef,
  Turn,
  TurnMessage,
  TurnSettings,
  TurnTool,
} from '../translate/turn.ts';
import { readItem } from './items.ts';
import { dedupeTools, readTools } from './tools.ts';

export function responsesToTurn(body: JsonObject): Turn {
  refuseState(body);
  const warnings: string[] = [];
  for (const name of ['truncation', 'max_tool_calls', 'context_management', 'moderation'] as const) {
    const value = body[name];
    if (value !== undefined && value !== null && value !== 'disabled') warnings.push(`${name}: left out`);
  }
  const instructions = stringAt(body, 'instructions');
  const { messages, tools } = readInput(body.input);
  return {
    origin: 'responses',
    inputField: 'input',
    instructions: instructions === undefined ? [] : [{ type: 'text', text: instructions }],
    messages,
    tools: dedupeTools([...readTools(objectsAt(body, 'tools'), 'tools'), ...tools]),
    toolChoice: readToolChoice(body.tool_choice),
    settings: readSettings(body),
    stream: body.stream === true,
    includeUsage: true,
    warnings,
  };
}

/** Items that the gateway has stored were put into place before: the others refer to what no target of another format has. */
function refuseState(body: JsonObject): void {
  const instead = 'Send the earlier items in "input" instead.';
  for (const name of ['previous_response_id', 'conversation'] as const) {
    if (body[name] !== undefined && body[name] !== null) {
      refuse(name, `"${name}" is not supported by this model: no conversation is stored. ${instead}`);
    }
  }
  if (isObject(body.prompt)) refuse('prompt', 'Stored prompts are not supported by this model. Send "instructions".');
  if (body.background === true) refuse('background', 'Background responses are not available.');
}

function readInput(input: Json | undefined): { messages: readonly TurnMessage[]; tools: readonly TurnTool[] } {
  if (typeof input === 'string') {
    return { messages: [{ role: 'user', parts: [{ type: 'text', text: input }], at: 'input' }], tools: [] };
  }
  const messages: TurnMessage[] = [];
  const tools: TurnTool[] = [];
  let answer: { role: 'assistant'; parts: Part[]; at: string } | null = null;
  for (const [index, item] of (Array.isArray(input) ? input : []).entries()) {
    const at = `input[${index}]`;
    const read = readItem(item, at);
    tools.push(...read.tools);
    if (read.parts.length === 0 && read.role === null) continue;
    if (read.role !== 'assistant') {
      answer = null;
      messages.push({ role: read.role ?? 'user', parts: read.parts, at });
    } else if (answer) {
      answer.parts.push(...read.parts);
    } else {
      // The items of one answer (reasoning, text, calls) are one message: parallel calls belong together.
      answer = { role: 'assistant', parts: [...read.parts], at };
      messages.push(answer);
    }
  }
  return { messages, tools };
}

function readToolChoice(value: Json | undefined): ToolChoice | null {
  return readChoice('responses', value, readRef, (choice) => (choice.type === 'allowed_tools' ? choice : undefined));
}

function readRef(value: JsonObject): ToolRef | undefined {
  const name = stringAt(value, 'name');
  if (name === undefined || (value.type !== 'function' && value.type !== 'custom')) return undefined;
  return compact({ kind: value.type, name, namespace: stringAt(value, 'namespace') });
}

function readSettings(body: JsonObject): TurnSettings {
  const text = objectAt(body, 'text') ?? {};
  const reasoning = objectAt(body, 'reasoning');
  return compact({
    ...readCommonSettings(body),
    logprobs: (arrayAt(body, 'include') ?? []).includes('message.output_text.logprobs') ? true : undefined,
    output: readOutput(objectAt(text, 'format')),
    verbosity: stringAt(text, 'verbosity'),
    reasoning:
      reasoning &&
      compact({
        effort: stringAt(reasoning, 'effort'),
        summary: stringAt(reasoning, 'summary') ?? stringAt(reasoning, 'generate_summary'),
      }),
  });
}

function readOutput(format: JsonObject | undefined): OutputShape | undefined {
  return readShape(format, format, (type) =>
    refuse('text.format', `The text format "${type}" is not supported by this model.`),
  );
}
