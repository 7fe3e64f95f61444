/**
 * How models reason, by the names that their makers give them. Nothing here decides what is charged: it decides how much
 * is held, what is asked for and how. An unknown name counts as a model that does what the request says.
 */
import type { SamplingStyle, ThinkingStyle } from '../wire/translate/turn.ts';

/**
 * OpenAI's, and xAI's after them, refuse to give encrypted reasoning where they have none. As pydantic-ai's profile has them
 * (`pydantic_ai/profiles/openai.py`, checked there against the live API in July 2026): every o-series and GPT-5 model
 * reasons, if only on request, except for `gpt-5-chat`; later `-chat` models always do. The variants of grok-4 that do not
 * reason say so in their names.
 */
const ENCRYPTS_REASONING =
  /^(?:[\w.-]+\/)?(?:o[1-9](?:-|$)|gpt-(?!5-chat)(?:[5-9]|oss)|codex-|grok-(?:[4-9]|3-mini|code-)(?!.*non-reasoning))/;

/** False where nobody knows: then only a request that asks for reasoning gets it. */
export function mayEncryptReasoning(upstreamModel: string): boolean {
  return ENCRYPTS_REASONING.test(upstreamModel);
}

/** The prefixes of resellers are allowed for; a date after the name is not part of its version. */
const CLAUDE = /claude-(opus|sonnet|haiku|fable|mythos)-(\d{1,2})(?:[.-](\d{1,2}))?(?!\d)/;

/**
 * What a Claude does with a request that says nothing about thinking. From generation 5 on it thinks, and shows nothing of
 * it unless asked to (platform.claude.com: "What's new in Claude Opus 5", "… Opus 5.5"; openrouter.ai/docs: "Claude 5.5",
 * all read in November 2026). For Sonnet 5 this is assumed.
 */
export function thinksUnasked(upstreamModel: string): boolean {
  const version = claudeVersion(upstreamModel);
  return version !== null && version >= 5;
}

/**
 * How a Claude takes a wish for thinking: with a budget up to 4.5; by effort alone from 4.6 on, where a budget is first
 * deprecated, then a 400; and from 5.5 on, and in all Fable and Mythos, it cannot be turned off (the same pages).
 */
export function thinkingStyle(upstreamModel: string): ThinkingStyle {
  const version = claudeVersion(upstreamModel);
  if (version === null || version < 4.6) return 'budget';
  return version >= 5.5 || /claude-(fable|mythos)/.test(upstreamModel) ? 'always' : 'adaptive';
}

/**
 * What a Claude takes of temperature, `top_p` and `top_k`: one of the first two from 4.1 on, none of them from 4.7 on
 * ("Migrating to Claude Opus 4.7" at platform.claude.com); the rest is a 400.
 */
export function samplingStyle(upstreamModel: string): SamplingStyle {
  const version = claudeVersion(upstreamModel);
  if (version === null || version < 4.1) return 'all';
  return version >= 4.7 ? 'none' : 'one';
}

/** 4.8 for `claude-opus-4-8`; null where the name is of no Claude that says its version behind its family. */
function claudeVersion(upstreamModel: string): number | null {
  const match = CLAUDE.exec(upstreamModel);
  return match === null ? null : Number(`${match[2]}.${match[3] ?? 0}`);
}
