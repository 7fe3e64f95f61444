/** A responses request → the hub. */
import { arrayAt, compact, type Json, type JsonObject, objectAt, objectsAt, stringAt } from '../../lib/json.ts';
import { refuse } from '../errors.ts';
import { lastAnswer, withHistory } from '../translate/history.ts';
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
  const reasoning = objectAt(body, 'reasoning');
  const without: readonly [name: string, value: Json | undefined, plain: Json][] = [
    ['truncation', body.truncation, 'disabled'],
    ['max_tool_calls', body.max_tool_calls, null],
    ['context_management', body.context_management, null],
    ['image', body.image, null],
    ['reasoning.context', reasoning?.context, 'auto'],
    ['reasoning.mode', reasoning?.mode, 'standard'],
  ];
  for (const [name, value = null, plain] of without) {
    if (value !== null && value !== plain) warnings.push(`${name}: left out`);
  }
  const instructions = stringAt(body, 'instructions');
  const { messages, tools, update } = readInput(body.input, warnings);
  return {
    origin: 'responses',
    inputField: 'input',
    instructions: instructions === undefined ? [] : [{ type: 'text', text: instructions }],
    messages,
    tools: dedupeTools([...readTools(objectsAt(body, 'tools'), 'tools'), ...tools]),
    toolChoice: readToolChoice(body.tool_choice),
    settings: updated(readSettings(body), update),
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
}

interface ReadInput {
  readonly messages: readonly TurnMessage[];
  readonly tools: readonly TurnTool[];
  /** Settings that the input changes. */
  readonly update: TurnSettings;
}

function readInput(input: Json | undefined, warnings: string[]): ReadInput {
  if (typeof input === 'string') {
    return { messages: [{ role: 'user', parts: [{ type: 'text', text: input }], at: 'input' }], tools: [], update: {} };
  }
  const messages: TurnMessage[] = [];
  const added: { readonly tool: TurnTool; readonly after: number }[] = [];
  let update: TurnSettings = {};
  let answer: { role: 'assistant'; parts: Part[]; at: string } | null = null;
  for (const [index, item] of (Array.isArray(input) ? input : []).entries()) {
    const at = `input[${index}]`;
    const read = readItem(item, at);
    added.push(...read.tools.map((tool) => ({ tool, after: messages.length })));
    if (read.update) update = { ...update, ...readUpdate(read.update, at) };
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
  const answered = lastAnswer(messages);
  const tools = added.flatMap(({ tool, after }) => {
    // The client cannot take back what it added before an answer.
    if (tool.kind !== 'foreign' || after > answered) return [tool];
    warnings.push(`${tool.at}: left out, the target has no such tool`);
    return [];
  });
  return { messages: withHistory(messages), tools, update };
}

/** An item changes only the settings that it names. */
function readUpdate(item: JsonObject, at: string): TurnSettings {
  const effort = stringAt(objectAt(item, 'reasoning') ?? {}, 'effort');
  const format = objectAt(objectAt(item, 'text') ?? {}, 'format');
  return compact({
    reasoning: effort === undefined ? undefined : { effort },
    output: readOutput(format, `${at}.text.format`),
  });
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

function updated(settings: TurnSettings, update: TurnSettings): TurnSettings {
  const { reasoning } = update;
  return { ...settings, ...update, ...(reasoning && { reasoning: { ...settings.reasoning, ...reasoning } }) };
}

function readOutput(format: JsonObject | undefined, at = 'text.format'): OutputShape | undefined {
  return readShape(format, format, (type) => refuse(at, `The text format "${type}" is not supported by this model.`));
}
