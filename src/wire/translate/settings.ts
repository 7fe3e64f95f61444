/** Settings that more than one format writes, and the conversion between effort and thinking budget. */
import { hash } from 'node:crypto';
import type { Turn } from './turn.ts';

/** The settings that chat and responses write under the same names. */
export function plainSettings(turn: Turn): object {
  const { settings } = turn;
  return {
    temperature: settings.temperature,
    top_p: settings.topP,
    metadata: settings.metadata,
    service_tier: settings.serviceTier,
    safety_identifier: settings.safetyIdentifier,
    prompt_cache_key: settings.promptCacheKey,
    prompt_cache_retention: settings.promptCacheRetention,
    prompt_cache_options: settings.promptCacheOptions,
    moderation: settings.moderation,
  };
}

const USER_LENGTH_MAX = 64;

/** Chat and responses providers take at most 64 characters as `user`; a longer id is replaced by its digest. */
export function writeUser(turn: Turn): string | undefined {
  const { user } = turn.settings;
  if (user === undefined || user.length <= USER_LENGTH_MAX) return user;
  return hash('sha256', user, 'hex');
}

/** The effort that a budget of thinking tokens means; the bounds lie between the budgets below. */
const EFFORT_BELOW: readonly (readonly [budget: number, effort: string])[] = [
  [4_096, 'low'],
  [16_384, 'medium'],
];
const BUDGET_OF_EFFORT: Readonly<Record<string, number>> = {
  minimal: 1_024,
  low: 2_048,
  medium: 8_192,
  high: 24_576,
  xhigh: 32_768,
  max: 49_152,
};
/** The least that the messages format takes. */
export const BUDGET_MIN = 1_024;

/** The effort that the client wishes, said or meant by its budget; undefined where it leaves it to the model. */
export function effortOf(turn: Turn): string | undefined {
  const asked = turn.settings.reasoning;
  if (!asked || asked.thinking === 'disabled') return undefined;
  if (asked.effort !== undefined || asked.budgetTokens === undefined) return asked.effort;
  const budget = asked.budgetTokens;
  return EFFORT_BELOW.find(([bound]) => budget < bound)?.[1] ?? 'high';
}

/** Thinking counts against the output limit: a quarter of it is left for the answer. */
const BUDGET_SHARE_MAX = 0.75;

/** The thinking budget for an effort within the output limit; undefined where there is no room for it. */
export function budgetOf(effort: string, outputLimit: number): number | undefined {
  const wished = BUDGET_OF_EFFORT[effort] ?? BUDGET_OF_EFFORT.medium ?? BUDGET_MIN;
  const budget = Math.min(wished, Math.floor(outputLimit * BUDGET_SHARE_MAX));
  return budget >= BUDGET_MIN ? budget : undefined;
}
