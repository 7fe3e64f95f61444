/**
 * What of a conversation is history: it has been answered. Where a target cannot be told it, it is left out with a warning,
 * so that a conversation is never locked; what asks for something now is refused instead.
 */
import { leaveOut, usableTools } from './tools.ts';
import type { Part, Turn, TurnMessage } from './turn.ts';

/** The index of the last answer; -1 where there is none. What the conversation ends with is the beginning of the next one. */
export function lastAnswer(messages: readonly { readonly role?: unknown }[]): number {
  const asked = messages.findLastIndex(({ role }) => role !== 'assistant');
  return messages.slice(0, asked + 1).findLastIndex(({ role }) => role === 'assistant');
}

/** The conversation with everything up to the last answer marked as past. */
export function withHistory(messages: readonly TurnMessage[]): readonly TurnMessage[] {
  const last = lastAnswer(messages);
  return messages.map((message, index) => (index > last ? message : { ...message, parts: message.parts.map(asPast) }));
}

function asPast<Of extends Part>(part: Of): Of {
  if (part.type === 'opaque' || part.type === 'file') return { ...part, past: true };
  return part.type === 'tool-result' ? { ...part, content: part.content.map(asPast) } : part;
}

/**
 * What a target is not told that knows nothing but the hub, as the packages of the AI SDK. Throws
 * `GatewayError('invalid_request')` where that asks for something now.
 */
export function untold(turn: Turn): readonly string[] {
  const warnings = [...turn.warnings];
  usableTools(turn, warnings);
  for (const part of turn.messages.flatMap(({ parts }) => parts)) {
    for (const one of part.type === 'tool-result' ? part.content : [part]) {
      if (one.type === 'opaque') leaveOut(one, warnings);
    }
  }
  return warnings;
}
