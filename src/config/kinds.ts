/** What is known about providers without configuration: a row per kind, and a row per well-known host. */
import type { Format } from '../core/endpoints.ts';
import type { Provider, ProviderKind } from '../core/provider.ts';
import type { ListPrices } from './model-list.ts';

interface Kind {
  /** The formats that a provider of this kind can be configured with. */
  readonly formats: readonly Format[];
  /** The formats where neither the file nor the host table names any. */
  readonly assumedFormats: readonly Format[];
  /** The address of the kind's namesake; null: every account has its own. */
  readonly baseUrl: string | null;
  readonly chatLimitField: Provider['chatLimitField'];
  readonly countsTokens: boolean;
  /** The `@pydantic/genai-prices` provider whose prices apply where host and name match none. */
  readonly priceBook: string | null;
  /** What a base URL must not end with, because the gateway adds it. */
  readonly addedPaths: readonly string[];
}

export const KINDS: Readonly<Record<ProviderKind, Kind>> = {
  openai: {
    formats: ['chat', 'responses', 'messages'],
    // Every compatible server supports chat; the other formats are translated to it unless the file names more.
    assumedFormats: ['chat'],
    baseUrl: 'https://api.openai.com/v1',
    chatLimitField: 'max_tokens',
    countsTokens: false,
    priceBook: 'openai',
    addedPaths: ['/chat/completions', '/responses'],
  },
  azure: {
    formats: ['chat', 'responses'],
    assumedFormats: ['chat', 'responses'],
    baseUrl: null,
    chatLimitField: 'max_completion_tokens',
    countsTokens: false,
    priceBook: 'azure',
    addedPaths: ['/openai', '/openai/v1'],
  },
  anthropic: {
    formats: ['messages'],
    assumedFormats: ['messages'],
    baseUrl: 'https://api.anthropic.com',
    chatLimitField: 'max_tokens',
    countsTokens: true,
    priceBook: 'anthropic',
    addedPaths: ['/v1', '/v1/messages'],
  },
  'ai-sdk': {
    // The adapter around a package translates from it: of the three formats it covers the most features.
    formats: ['responses'],
    assumedFormats: ['responses'],
    baseUrl: null,
    chatLimitField: 'max_tokens',
    countsTokens: false,
    priceBook: null,
    addedPaths: [],
  },
};

export interface KnownHost {
  /** The name of the provider when it is discovered from the environment. */
  readonly name: string;
  /** The environment variable that usually holds its key. */
  readonly variable: string;
  readonly kind: 'openai' | 'anthropic';
  readonly baseUrl: string;
  readonly formats: readonly Format[];
  readonly chatLimitField: Provider['chatLimitField'];
  readonly countsTokens?: boolean;
  /** Its id in `@pydantic/genai-prices`. */
  readonly priceBook: string;
  /** Which of the upstream ids listed there this address serves. */
  readonly serves: RegExp;
  /** Those of them that it serves in the responses format alone. */
  readonly responsesOnly?: RegExp;
  /** Its model list, where that has prices or is not at the usual address. */
  readonly modelList?: ModelListRequest;
}

/** How a list is asked for, where that differs from `GET` of the models path with the usual credentials. */
export interface ModelListRequest {
  readonly url?: string;
  /** The header that carries the key there. */
  readonly keyHeader?: string;
  /** Absent: its prices are not read. */
  readonly prices?: ListPrices;
}

/** It offers chat completions, and serves whatever the price book lists for it. */
const COMPATIBLE = { kind: 'openai', formats: ['chat'], chatLimitField: 'max_tokens', serves: /^/ } as const;

export const KNOWN_HOSTS: readonly KnownHost[] = [
  {
    name: 'openai',
    variable: 'OPENAI_API_KEY',
    kind: 'openai',
    baseUrl: 'https://api.openai.com/v1',
    formats: ['chat', 'responses'],
    chatLimitField: 'max_completion_tokens',
    countsTokens: true,
    priceBook: 'openai',
    serves:
      /^(?!ft:|gpt-oss|computer-use|codex-mini|ada$|babbage|curie|davinci|text-davinci|gpt-3\.5-0301)(?!.*(instruct|search-preview|deep-research|:|-$))/,
    responsesOnly: /-pro$|codex/,
  },
  {
    name: 'anthropic',
    variable: 'ANTHROPIC_API_KEY',
    kind: 'anthropic',
    baseUrl: 'https://api.anthropic.com',
    formats: ['messages'],
    chatLimitField: 'max_tokens',
    priceBook: 'anthropic',
    serves: /^claude-(?!v1|2)/,
  },
  {
    ...COMPATIBLE,
    name: 'gemini',
    variable: 'GEMINI_API_KEY',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    priceBook: 'google',
    serves: /^gem(ini-\d|ma)/,
    // The list at the compatible address has names only.
    modelList: {
      url: 'https://generativelanguage.googleapis.com/v1beta/models?pageSize=1000',
      keyHeader: 'x-goog-api-key',
    },
  },
  {
    ...COMPATIBLE,
    name: 'openrouter',
    variable: 'OPENROUTER_API_KEY',
    baseUrl: 'https://openrouter.ai/api/v1',
    priceBook: 'openrouter',
    serves: /^[^~/][^/]*\/(?!.*:batch$)/,
    modelList: { prices: 'usd_per_token' },
  },
  {
    ...COMPATIBLE,
    name: 'groq',
    variable: 'GROQ_API_KEY',
    baseUrl: 'https://api.groq.com/openai/v1',
    chatLimitField: 'max_completion_tokens',
    priceBook: 'groq',
  },
  {
    ...COMPATIBLE,
    name: 'mistral',
    variable: 'MISTRAL_API_KEY',
    baseUrl: 'https://api.mistral.ai/v1',
    priceBook: 'mistral',
  },
  {
    ...COMPATIBLE,
    name: 'deepseek',
    variable: 'DEEPSEEK_API_KEY',
    baseUrl: 'https://api.deepseek.com/v1',
    priceBook: 'deepseek',
  },
  {
    ...COMPATIBLE,
    name: 'xai',
    variable: 'XAI_API_KEY',
    baseUrl: 'https://api.x.ai/v1',
    formats: ['chat', 'responses'],
    chatLimitField: 'max_completion_tokens',
    priceBook: 'x-ai',
    modelList: { prices: 'cents_per_100_million' },
  },
  {
    ...COMPATIBLE,
    name: 'together',
    variable: 'TOGETHER_API_KEY',
    baseUrl: 'https://api.together.xyz/v1',
    priceBook: 'together',
    modelList: { prices: 'usd_per_million' },
  },
  {
    ...COMPATIBLE,
    name: 'fireworks',
    variable: 'FIREWORKS_API_KEY',
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    priceBook: 'fireworks',
  },
];

/** Model servers that are probed on this machine; their models are free. */
export const LOCAL_SERVERS: readonly { readonly name: string; readonly baseUrl: string }[] = [
  { name: 'ollama', baseUrl: 'http://127.0.0.1:11434/v1' },
  { name: 'vllm', baseUrl: 'http://127.0.0.1:8000/v1' },
];

export function knownHostOf(baseUrl: string): KnownHost | undefined {
  return URL.canParse(baseUrl) ? HOSTS_BY_NAME.get(new URL(baseUrl).host) : undefined;
}

export function knownHostNamed(name: string): KnownHost | undefined {
  return KNOWN_HOSTS.find((host) => host.name === name);
}

const HOSTS_BY_NAME = new Map(KNOWN_HOSTS.map((host) => [new URL(host.baseUrl).host, host]));
