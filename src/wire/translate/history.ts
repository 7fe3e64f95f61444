/**
 * What of a conversation is history: it has been answered. Where a target cannot be told it, it is left out with a warning,
 * so that a conversation is never locked; what asks for something now is refused instead.
 */
import type { Part, TurnMessage } from './turn.ts';

/** The conversation with everything up to the last answer marked as past. */
export function withHistory(messages: readonly TurnMessage[]): readonly TurnMessage[] {
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  return messages.map((message, index) => (index > last ? message : { ...message, parts: message.parts.map(asPast) }));
}

function asPast<Of extends Part>(part: Of): Of {
  if (part.type === 'opaque' || part.type === 'file') return { ...part, past: true };
  return part.type === 'tool-result' ? { ...part, content: part.content.map(asPast) } : part;
}
