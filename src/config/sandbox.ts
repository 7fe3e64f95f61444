/** The catalog of the built-in simulated upstream: two providers and three models, public and clearly labelled. */
import type { Format } from '../core/endpoints.ts';
import type { Model, Source } from '../core/model.ts';
import type { Provider } from '../core/provider.ts';
import { assembleModel, assembleProvider } from './assemble.ts';
import { pricingFromUsd } from './pricing.ts';
import type { FileProvider } from './schema.ts';

/** 2026-01-01, so that the listing does not change from start to start. */
const CREATED_S = 1_767_225_600;
const USD = { input: 1, output: 4 };
const BUILT_IN: Source = { kind: 'configured', name: 'the built-in sandbox', date: null };

export function sandboxProviders(sandboxUrl: string): Provider[] {
  // It fails on demand: one caller's experiment must not open the breaker for the others.
  const common: FileProvider = { chat_limit_field: 'max_completion_tokens', circuit_breaker: false };
  const address = `${sandboxUrl}/v1`;
  return [
    assembleProvider('sandbox-a', { ...common, kind: 'openai', base_url: address, formats: ['chat', 'responses'] }),
    assembleProvider('sandbox-b', { ...common, kind: 'anthropic', base_url: sandboxUrl }),
  ];
}

export function sandboxModels(usdPerCredit: number): Model[] {
  const large = { contextWindow: 128_000, maxOutputTokens: 64_000 };
  const model = (
    name: string,
    provider: string,
    formats: readonly Format[],
    size: { contextWindow: number; maxOutputTokens: number },
    capable: boolean,
  ): Model => {
    const pricing = { ...pricingFromUsd(USD, usdPerCredit), longCacheWrites: true };
    const made = assembleModel({
      id: `sandbox/${name}`,
      provider,
      ...size,
      usd: USD,
      usdPerCredit,
      sources: { pricing: BUILT_IN, contextWindow: BUILT_IN, maxOutputTokens: BUILT_IN },
      targets: formats.map((format) => ({ provider, upstreamModel: `${name}-sim`, format, weight: 1 })),
      file: {
        display_name: `Sandbox ${name} (simulated)`,
        tagline: 'A simulated model that answers from this machine.',
        owned_by: 'model-gateway',
        created: CREATED_S,
        capabilities: { images: capable, reasoning: capable },
        visible_output: true,
        public: true,
      },
    });
    return { ...made, pricing, providerPricing: pricing };
  };
  return [
    model('alpha', 'sandbox-a', ['chat', 'responses'], large, true),
    model('beta', 'sandbox-b', ['messages'], large, true),
    model('tiny', 'sandbox-a', ['chat', 'responses'], { contextWindow: 2048, maxOutputTokens: 256 }, false),
  ];
}
