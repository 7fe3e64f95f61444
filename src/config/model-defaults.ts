/** Default parameters of a model: what the config file says in place of a client that says nothing. */
import type { Model, Target } from '../core/model.ts';
import { isPlainValue, multiplierOf } from '../core/price-terms.ts';
import type { Provider } from '../core/provider.ts';
import { joinPath } from '../lib/schema-errors.ts';
import type { Problem } from './problem.ts';
import type { FileModel } from './schema.ts';

/** What the file itself contradicts. A published limit may change, so that it only bounds the default of a request. */
export function contradictedDefaults(path: string, model: FileModel): Problem[] {
  const { defaults = {}, max_output_tokens: limit, capabilities } = model;
  const problems: Problem[] = [];
  const refuse = (name: string, message: string) =>
    problems.push({ path: joinPath(joinPath(path, 'defaults'), name), message });
  if (limit !== undefined && (defaults.max_output_tokens ?? 0) > limit) {
    refuse('max_output_tokens', `must not exceed max_output_tokens of the model (${limit})`);
  }
  if (capabilities?.reasoning === false && (defaults.reasoning_effort ?? 'none') !== 'none') {
    refuse('reasoning_effort', 'contradicts `capabilities: { reasoning: false }`');
  }
  return problems;
}

/** The tiers that have a counterpart in the messages format. */
const TIERS_OF_MESSAGES: ReadonlySet<string> = new Set(['auto', 'default']);

/** A default that changes the price needs one at every target, and must be able to reach it. */
export function unpricedDefault(
  path: string,
  { defaults, pricing, targets }: Model,
  providers: ReadonlyMap<string, Provider>,
): Problem | null {
  const tier = defaults?.service_tier;
  if (tier === undefined) return null;
  const at = joinPath(joinPath(path, 'defaults'), 'service_tier');
  for (const { provider, format } of targets) {
    if (multiplierOf(pricing, provider, 'service_tier', tier) === null) {
      const example = `multipliers: { service_tier: { ${tier}: 1.5 } }`;
      return { path: at, message: `"${tier}" has no price at ${provider}: give it one, like \`${example}\`` };
    }
    if (!canCarry(tier, format, providers.get(provider))) {
      return { path: at, message: `"${tier}" cannot be asked for at ${provider} in the ${format} format` };
    }
  }
  return null;
}

function canCarry(tier: string, format: Target['format'], provider: Provider | undefined): boolean {
  if (provider?.kind === 'ai-sdk') return isPlainValue('service_tier', tier);
  return format !== 'messages' || TIERS_OF_MESSAGES.has(tier);
}
