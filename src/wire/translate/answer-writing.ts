/** The parts that all writers of answers share. */
import { NO_TOKENS, type TokenCounts } from '../../core/usage.ts';
import type { AnswerContext, TurnEvent } from './turn.ts';

const PREFIXES = ['chatcmpl-', 'resp_', 'msg_', 'gen-'];

/** The provider's id under the prefix of the client's format, so that both sides' logs can be matched. */
export function answerId(context: AnswerContext, upstreamId: string | null, prefix: string): string {
  return prefix + bareId(context, upstreamId);
}

export function bareId(context: AnswerContext, upstreamId: string | null): string {
  if (upstreamId === null || upstreamId === '') return context.answerId;
  const known = PREFIXES.find((one) => upstreamId.startsWith(one));
  return known === undefined ? upstreamId : upstreamId.slice(known.length);
}

export function dataFrame(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

export function eventFrame(type: string, value: object): string {
  return `event: ${type}\ndata: ${JSON.stringify(value)}\n\n`;
}

/** Names the paragraph of reasoning that a delta belongs to; a summary and the full text are paragraphs apart. */
export function paragraphOf(event: Extract<TurnEvent, { type: 'reasoning-delta' }>): string {
  return `${event.full === true ? 'full' : 'summary'}${event.paragraph}`;
}

/** Characters of text that make about one token, for figures shown where the provider reports none. */
const CHARACTERS_PER_TOKEN = 4;

/** The usage that is shown where the format must show some and the provider reported none. */
export function placeholderUsage(context: Pick<AnswerContext, 'likelyInputTokens'>, characters: number): TokenCounts {
  const output = Math.ceil(characters / CHARACTERS_PER_TOKEN);
  return { ...NO_TOKENS, input: context.likelyInputTokens(), output };
}
