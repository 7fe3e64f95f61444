/** The messages of a turn → the prompt of the AI SDK. */
import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ReasoningPart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider';
import { refuse } from '../../wire/errors.ts';
import type { ToolNames } from '../../wire/translate/tool-names.ts';
import { argumentsValue, groupToolResults, leaveOut, refuseVastArguments } from '../../wire/translate/tools.ts';
import type { Part, ReasoningPart, TextPart, ToolResultPart, Turn, TurnMessage } from '../../wire/translate/turn.ts';
import { type MediaRules, writeFile, writeImage } from './media.ts';
import { type Signatures, unseal } from './signatures.ts';

export interface PromptRules extends MediaRules {
  readonly names: ToolNames;
  /** The provider as its package calls it: what it has signed goes back to it, and only to it. */
  readonly provider: string;
  /** Whether the model takes cache marks; others refuse them. */
  readonly cacheMarks: boolean;
}

/** A cache mark in the terms of the packages that know one. */
const CACHE_MARK = {
  anthropic: { cacheControl: { type: 'ephemeral' } },
  bedrock: { cachePoint: { type: 'default' } },
};

type UserPart = LanguageModelV4TextPart | LanguageModelV4FilePart;
type AnswerPart = LanguageModelV4TextPart | LanguageModelV4ReasoningPart | LanguageModelV4ToolCallPart;

/** Throws `GatewayError('invalid_request')` on what the model cannot be given. */
export function writePrompt(turn: Turn, rules: PromptRules): LanguageModelV4Prompt {
  refuseVastArguments(turn);
  const settled = groupToolResults(turn.messages);
  const toolNames = namesOfCalls(turn, rules);
  const talk = settled.findIndex(({ role }) => role === 'user' || role === 'assistant');
  const leading = talk < 0 ? settled : settled.slice(0, talk);
  const prompt: LanguageModelV4Message[] = [];
  const system = [turn.instructions, ...leading.map(({ parts }) => parts)].flatMap(texts);
  // A prompt must hold a message: one that is only a system prompt is asked as the user's.
  if (talk < 0) return [{ role: 'user', content: system.map(({ text }) => ({ type: 'text', text })) }];
  for (const part of system) prompt.push({ role: 'system', content: part.text, ...breakpointOf(part, rules) });
  for (const message of settled.slice(talk)) {
    if (message.role === 'assistant') writeAnswer(message, rules, prompt);
    else writeUser(message, rules, toolNames, prompt);
  }
  return prompt;
}

/** The results of a call name its tool in the AI SDK. */
function namesOfCalls(turn: Turn, { names }: PromptRules): ReadonlyMap<string, string> {
  const calls = turn.messages.flatMap(({ parts }) => parts.filter((part) => part.type === 'tool-call'));
  return new Map(calls.map((call) => [call.callId, names.out(call.tool)]));
}

function texts(parts: readonly Part[]): readonly TextPart[] {
  return parts.filter((part): part is TextPart => part.type === 'text' && part.text !== '');
}

function breakpointOf(part: Part, { cacheMarks }: PromptRules): { providerOptions?: typeof CACHE_MARK } {
  return cacheMarks && 'cache' in part && part.cache ? { providerOptions: CACHE_MARK } : {};
}

function writeUser(
  message: TurnMessage,
  rules: PromptRules,
  toolNames: ReadonlyMap<string, string>,
  prompt: LanguageModelV4Message[],
): void {
  const results = message.parts.filter((part): part is ToolResultPart => part.type === 'tool-result');
  if (results.length > 0) {
    const content = results.map((result) => writeResult(result, rules, toolNames));
    // The results of parallel calls belong together.
    const last = prompt.at(-1);
    if (last?.role === 'tool') last.content.push(...content);
    else prompt.push({ role: 'tool', content });
  }
  const content = message.parts.flatMap((part) => writeUserPart(part, rules, message.role !== 'user'));
  if (content.length > 0) prompt.push({ role: 'user', content });
}

/** Packages take a system prompt at the beginning only; said later, it is said by the user. */
function writeUserPart(part: Part, rules: PromptRules, asSystem: boolean): UserPart[] {
  switch (part.type) {
    case 'text':
      return [
        {
          type: 'text',
          text: asSystem ? `<system>\n${part.text}\n</system>` : part.text,
          ...breakpointOf(part, rules),
        },
      ];
    case 'image':
      return [{ ...writeImage(part, rules), ...breakpointOf(part, rules) }];
    case 'file':
      return [{ ...writeFile(part, rules), ...breakpointOf(part, rules) }];
    case 'opaque':
      leaveOut(part, []);
      return [];
    default:
      return [];
  }
}

function writeResult(
  result: ToolResultPart,
  rules: PromptRules,
  toolNames: ReadonlyMap<string, string>,
): LanguageModelV4ToolResultPart {
  const toolName = toolNames.get(result.callId);
  if (toolName === undefined) {
    refuse(`${result.at}.call_id`, `There is no tool call "${result.callId}" before its result.`);
  }
  const mark =
    result.content.map((part) => breakpointOf(part, rules)).find(({ providerOptions }) => providerOptions) ?? {};
  const base = { type: 'tool-result', toolCallId: result.callId, toolName, ...mark } as const;
  const known = result.content.filter((part) => part.type !== 'opaque');
  for (const part of result.content) if (part.type === 'opaque') leaveOut(part, []);
  if (known.every((part) => part.type === 'text')) {
    const value = known.map(({ text }) => text).join('\n');
    return { ...base, output: { type: result.isError ? 'error-text' : 'text', value } };
  }
  // Some packages would fetch what a result only refers to, and the gateway fetches nothing that a client names.
  const inline: PromptRules = { ...rules, supportedUrls: {} };
  const value = known.map((part) => {
    if (part.type === 'text') return { type: 'text' as const, text: part.text };
    return part.type === 'image' ? writeImage(part, inline) : writeFile(part, inline);
  });
  return { ...base, output: { type: 'content', value } };
}

function writeAnswer(message: TurnMessage, rules: PromptRules, prompt: LanguageModelV4Message[]): void {
  const signed = signedCalls(message, rules);
  const content = message.parts.flatMap((part): AnswerPart[] => {
    switch (part.type) {
      case 'text':
      case 'refusal':
        return part.text === '' ? [] : [{ type: 'text', text: part.text }];
      case 'reasoning':
        return writeReasoningBlock(part, rules);
      case 'tool-call':
        return [
          {
            type: 'tool-call',
            toolCallId: part.callId,
            toolName: rules.names.out(part.tool),
            input: argumentsValue(part),
            ...withSignatures(signed.get(part.callId)),
          },
        ];
      case 'opaque':
        leaveOut(part, []);
        return [];
      default:
        return refuse(message.at, `An assistant message cannot hold "${part.type}" for this model.`);
    }
  });
  if (content.length > 0) prompt.push({ role: 'assistant', content });
}

/** Reasoning goes back only to the provider that signed it; other reasoning is left out. */
function writeReasoningBlock({ reasoning }: ReasoningPart, { provider }: PromptRules): LanguageModelV4ReasoningPart[] {
  const sealed = unseal(reasoning.encrypted);
  if (!sealed || sealed.provider !== provider || sealed.callId !== undefined) return [];
  return [{ type: 'reasoning', text: reasoning.texts.join('\n\n'), ...withSignatures(sealed.signatures) }];
}

function signedCalls({ parts }: TurnMessage, { provider }: PromptRules): ReadonlyMap<string, Signatures> {
  const signed = new Map<string, Signatures>();
  for (const part of parts) {
    const sealed = part.type === 'reasoning' ? unseal(part.reasoning.encrypted) : undefined;
    if (sealed?.callId !== undefined && sealed.provider === provider) signed.set(sealed.callId, sealed.signatures);
  }
  return signed;
}

function withSignatures(signatures: Signatures | undefined): {
  providerOptions?: Record<string, Record<string, string>>;
} {
  return signatures ? { providerOptions: signatures as Record<string, Record<string, string>> } : {};
}
