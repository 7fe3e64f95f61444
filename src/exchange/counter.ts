/**
 * The token counter: low, likely and high.
 * - `high` is provable: a token covers at least one byte of text, so a body never has more tokens than bytes, plus
 *   what providers add themselves and what images may count for. Holds use it.
 * - `likely` is a calibrated guess; local charges and token counts use it.
 * - `low` is a cautious floor; the context check refuses only on it.
 */
import type { RequestFacts } from '../wire/format.ts';

/** The most that one image or file part counts for at any provider known here. */
const ATTACHMENT_TOKENS_MAX = 20_000;
const ATTACHMENT_TOKENS_LIKELY = 1_200;
/** Role marks and the like; those of each message are covered by the bytes of its JSON. */
const FRAME_TOKENS_MAX = 32;
/** Providers put a prompt of their own in front of tools. */
const TOOL_PROMPT_TOKENS_MAX = 1_024;
const BYTES_PER_TOKEN_LIKELY = 4;
const BYTES_PER_TOKEN_LOW = 6;

export interface InputCount {
  readonly low: number;
  readonly likely: number;
  readonly high: number;
}

export function countInput(bodyBytes: number, facts: RequestFacts, contextWindow: number | null): InputCount {
  const textBytes = bodyBytes - facts.attachments.inlineBytes;
  const prompt = FRAME_TOKENS_MAX + (facts.needs.tools === undefined ? 0 : TOOL_PROMPT_TOKENS_MAX);
  const high = textBytes + prompt + facts.attachments.count * ATTACHMENT_TOKENS_MAX;
  return {
    low: Math.floor(textBytes / BYTES_PER_TOKEN_LOW),
    likely: Math.ceil(textBytes / BYTES_PER_TOKEN_LIKELY) + facts.attachments.count * ATTACHMENT_TOKENS_LIKELY,
    high: contextWindow === null ? high : Math.min(high, contextWindow),
  };
}

/** How many tokens this much generated text likely was. */
export function countOutput(outputBytes: number): number {
  return Math.ceil(outputBytes / BYTES_PER_TOKEN_LIKELY);
}
