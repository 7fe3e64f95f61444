/** The gateway of a client: the strict sandbox, and aimock as a provider that nobody here has written. */
import { type ChatCompletionRequest, type FixtureResponse, LLMock } from '@copilotkit/aimock';
import { type StartedGateway, startedGateway } from '../test/support/started-gateway.ts';

const CITY = JSON.stringify({ city: 'Rome' });
const usage = { input_tokens: 17, output_tokens: 23 };

/** Does as the sandbox does with the directives that the scenarios use. */
function answer({ messages, tools = [] }: ChatCompletionRequest): FixtureResponse {
  if (messages.at(-1)?.role === 'tool') return { content: 'The tool says: sunny in the city.', usage };
  const { content = '' } = messages.findLast(({ role }) => role === 'user') ?? {};
  const said = typeof content === 'string' ? content : (content ?? []).map(({ text = '' }) => text).join('\n');
  const [tool] = tools;
  const [directive, count = '1'] = /\[\[tool(?:=(\d))?\]\]/.exec(said) ?? [];
  if (directive !== undefined && tool !== undefined) {
    const call = { name: tool.function.name, arguments: CITY };
    return { toolCalls: Array.from({ length: Number(count) }, () => call), usage };
  }
  if (said.startsWith('a city')) return { content: CITY, usage };
  const reasoning = said.includes('[[thinking]]') ? { reasoning: 'A thought.' } : {};
  return { content: 'Simulated answer of a server that is not ours: grüß dich, 世界.', usage, ...reasoning };
}

/** YAML is a superset of JSON. The prices are those of the sandbox. */
function configText(origin: string): string {
  const common = { context_window: 400_000, max_output_tokens: 64_000, pricing: { input: 1, output: 4 } };
  return JSON.stringify({
    providers: {
      'aimock-openai': {
        kind: 'openai',
        base_url: `${origin}/v1`,
        api_key: 'sk-any',
        formats: ['chat', 'responses'],
      },
      'aimock-anthropic': { kind: 'anthropic', base_url: origin, api_key: 'sk-any', count_tokens: false },
    },
    models: [
      { id: 'foreign/openai', targets: [{ provider: 'aimock-openai', model: 'gpt-4o-mini' }], ...common },
      { id: 'foreign/anthropic', targets: [{ provider: 'aimock-anthropic', model: 'claude-sonnet-4' }], ...common },
    ],
    limits: { drain: 1 },
  });
}

export interface GatewayOfClients extends StartedGateway {
  /** Stops it as an operator does, and starts it again on its data, at the same address. */
  restart(): Promise<void>;
}

/** Each client has its own: what one does to the providers' circuits is nothing to the next. */
export async function gatewayOfClients(): Promise<GatewayOfClients> {
  const foreign = new LLMock({ port: 0, logLevel: 'silent' });
  foreign.on({ predicate: () => true }, answer);
  await foreign.start();
  const config = configText(foreign.url);
  const env = { GATEWAY_SANDBOX: 'strict' };
  const gateway = await startedGateway({ config, env });
  const { port: GATEWAY_PORT } = new URL(gateway.origin);
  let current: StartedGateway = gateway;
  return {
    ...gateway,
    restart: async () => {
      await current.stop();
      current = await startedGateway({ config, env: { ...env, GATEWAY_PORT }, dataDir: gateway.dataDir });
    },
    [Symbol.asyncDispose]: async () => {
      await current.stop();
      await gateway[Symbol.asyncDispose]();
      await foreign.stop();
    },
  };
}
