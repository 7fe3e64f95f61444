/** What spans and metrics say of a provider, and of what is not known. */
import type { Attributes } from '@opentelemetry/api';

/** Names of this gateway's providers for which the GenAI semantic conventions have another one; the rest are alike. */
const WELL_KNOWN: Readonly<Record<string, string>> = {
  azure: 'azure.ai.openai',
  bedrock: 'aws.bedrock',
  gemini: 'gcp.gemini',
  google: 'gcp.gemini',
  mistral: 'mistral_ai',
  vertex: 'gcp.vertex_ai',
  xai: 'x_ai',
};

/** The provider by its name in the conventions, and by the one that it has in the configuration. */
export function providerAttributes(provider: string | undefined): Attributes {
  if (provider === undefined) return {};
  const known = Object.hasOwn(WELL_KNOWN, provider) ? WELL_KNOWN[provider] : undefined;
  return { 'gen_ai.provider.name': known ?? provider, 'gateway.provider': provider };
}

/** Without those that have no value: exporters would send their names with nothing. */
export function given(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}
