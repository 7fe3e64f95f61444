/** An upstream request in the responses format → a call of the AI SDK. */
import type { LanguageModelV4CallOptions, LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import { compact, type JsonObject, numberAt } from '../../lib/json.ts';
import { refuse } from '../../wire/errors.ts';
import { effortOf } from '../../wire/translate/settings.ts';
import type { ToolNames } from '../../wire/translate/tool-names.ts';
import { allowedTools, functionDescription, functionSchema, usableTools } from '../../wire/translate/tools.ts';
import type { ClientTool, OutputShape, Turn } from '../../wire/translate/turn.ts';
import { type PromptRules, writePrompt } from './prompt.ts';

type ToolChoice = NonNullable<LanguageModelV4CallOptions['toolChoice']>;
type ResponseFormat = NonNullable<LanguageModelV4CallOptions['responseFormat']>;
type Effort = NonNullable<LanguageModelV4CallOptions['reasoning']>;
type Schema = LanguageModelV4FunctionTool['inputSchema'];

const EFFORTS: readonly Effort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/** Throws `GatewayError('invalid_request')` on what the model cannot be given. */
export function writeCallOptions(body: JsonObject, turn: Turn, rules: PromptRules): LanguageModelV4CallOptions {
  const { settings } = turn;
  if (settings.moderation !== undefined) refuse('moderation', 'Moderation is not supported by this model.');
  const tools = allowedTools(turn, usableTools(turn, [])).filter((tool) => tool.kind !== 'foreign');
  const effort = EFFORTS.find((one) => one === effortOf(turn));
  return compact({
    prompt: writePrompt(turn, rules),
    maxOutputTokens: numberAt(body, 'max_output_tokens'),
    temperature: settings.temperature,
    topP: settings.topP,
    topK: numberAt(body, 'top_k'),
    seed: numberAt(body, 'seed'),
    frequencyPenalty: numberAt(body, 'frequency_penalty'),
    presencePenalty: numberAt(body, 'presence_penalty'),
    responseFormat: settings.output && writeOutput(settings.output),
    tools: tools.length > 0 ? tools.map((tool) => writeTool(tool, rules.names)) : undefined,
    toolChoice: tools.length > 0 ? writeToolChoice(turn, rules.names) : undefined,
    reasoning: effort,
  }) as LanguageModelV4CallOptions;
}

function writeTool(tool: ClientTool, names: ToolNames): LanguageModelV4FunctionTool {
  return compact({
    type: 'function',
    name: names.out(tool),
    description: functionDescription(tool),
    inputSchema: functionSchema(tool) as Schema,
    strict: tool.strict,
  }) as LanguageModelV4FunctionTool;
}

function writeToolChoice(turn: Turn, names: ToolNames): ToolChoice | undefined {
  const choice = turn.toolChoice;
  if (!choice) return undefined;
  switch (choice.kind) {
    case 'tool':
      return { type: 'tool', toolName: names.out(choice.tool) };
    case 'allowed':
      return { type: choice.mode };
    case 'foreign':
      return refuse('tool_choice', 'This tool choice is not supported by this model.');
    default:
      return { type: choice.kind };
  }
}

function writeOutput(output: OutputShape): ResponseFormat {
  if (output.kind === 'text') return { type: 'text' };
  if (output.kind === 'json') return { type: 'json' };
  const { name, description } = output;
  return compact({ type: 'json', schema: output.schema as Schema, name, description }) as ResponseFormat;
}
