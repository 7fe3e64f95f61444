/** A gateway whose models are served by provider packages, against aimock's endpoints for Gemini and Bedrock. */
import Anthropic from '@anthropic-ai/sdk';
import { LLMock } from '@copilotkit/aimock';
import OpenAI from 'openai';
import { type StartedGateway, startedGateway } from '../../support/started-gateway.ts';

export const GOOGLE_KEY = 'AIzaTestKeyOfTheOperator0123456789abc';
export const BEDROCK_KEY = 'bedrock-api-key-of-the-operator-0123456789';

export interface PackageGateway extends AsyncDisposable {
  readonly gateway: StartedGateway;
  readonly mock: LLMock;
  /** The secret of a fresh key with five credits. */
  key(): Promise<string>;
  openai(key: string): OpenAI;
  anthropic(key: string): Anthropic;
}

function configOf(url: string): string {
  return `
sandbox: false
routing: { max_attempts: 1 }
providers:
  google: { kind: ai-sdk, package: '@ai-sdk/google', base_url: '${url}/v1beta', api_key: ${GOOGLE_KEY}, circuit_breaker: false }
  aws: { kind: ai-sdk, package: '@ai-sdk/amazon-bedrock', base_url: '${url}', options: { region: us-east-1, apiKey: ${BEDROCK_KEY} }, circuit_breaker: false }
models:
  - { id: gemini, targets: [{ provider: google, model: gemini-2.5-flash }], pricing: { input: 1, output: 2, cache_read: 0.5 }, max_output_tokens: 1000 }
  - { id: bedrock, targets: [{ provider: aws, model: us.anthropic.claude-sonnet-4-5-20250929-v1:0 }], pricing: { input: 1, output: 2 }, max_output_tokens: 1000 }
`;
}

export async function packageGateway(): Promise<PackageGateway> {
  const mock = new LLMock({ port: 0, host: '127.0.0.1', logLevel: 'silent' });
  await mock.start();
  return around(mock, await startedGateway({ config: configOf(mock.url) }));
}

function around(mock: LLMock, gateway: StartedGateway): PackageGateway {
  return {
    gateway,
    mock,
    key: async () => (await gateway.creditKey()).key,
    openai: (apiKey) => new OpenAI({ baseURL: `${gateway.origin}/v1`, apiKey, maxRetries: 0 }),
    anthropic: (authToken) => new Anthropic({ baseURL: gateway.origin, authToken, apiKey: null, maxRetries: 0 }),
    [Symbol.asyncDispose]: async () => {
      await gateway[Symbol.asyncDispose]();
      await mock.stop();
    },
  };
}
