/** What every writer of answers does alike. */
import { NO_TOKENS, type TokenCounts } from '../core/usage.ts';
import type { AnswerContext } from './turn.ts';

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

/** Characters of text that make about one token, for figures shown where the provider reports none. */
const CHARACTERS_PER_TOKEN = 4;

/** What is shown as usage where the format must show some and the provider reported none. */
export function likelyTokens(context: AnswerContext, characters: number): TokenCounts {
  const output = Math.ceil(characters / CHARACTERS_PER_TOKEN);
  return { ...NO_TOKENS, input: context.likelyInputTokens, output };
}
