/**
 * Peers that are measured where someone has installed them, and never required. Each is a start command, an address and
 * headers; a version whose configuration has moved on is reported as not starting, not as a failed run.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Adapter } from '../peer.ts';
import { findBinary } from '../processes.ts';

function writeConfiguration(folder: string, name: string, text: string): string {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

const HEADERS = { authorization: 'Bearer bench' };

/** LiteLLM does not start without one. */
const MASTER_KEY = 'sk-bench-4f1d9a7c2e8b6035d1c4a9e7f2b80c63';

/** `pipx install 'litellm[proxy]'` */
export const litellm: Adapter = {
  name: 'litellm',
  missing: () => (findBinary('litellm') === null ? "not installed (pipx install 'litellm[proxy]')" : null),
  refuses: (shape) => (shape.client === 'chat' && shape.native === 'chat' ? null : 'the adapter covers chat only'),
  launch: ({ folder, port, upstreamOrigin }) => {
    const params = { model: 'openai/*', api_base: `${upstreamOrigin}/v1`, api_key: 'bench' };
    const config = {
      model_list: [{ model_name: '*', litellm_params: params }],
      general_settings: { master_key: MASTER_KEY },
    };
    const file = writeConfiguration(folder, 'litellm.yaml', JSON.stringify(config));
    return {
      command: findBinary('litellm') ?? 'litellm',
      args: ['--config', file, '--host', '127.0.0.1', '--port', String(port), '--num_workers', '1'],
      origin: `http://127.0.0.1:${port}`,
      readyPath: '/health/liveliness',
      runsOnNode: false,
      tellsLoopDelay: false,
      headers: () => ({ authorization: `Bearer ${MASTER_KEY}` }),
    };
  },
};

/** `go install github.com/maximhq/bifrost/transports/bifrost-http@latest` */
export const bifrost: Adapter = {
  name: 'bifrost',
  missing: () =>
    findBinary('bifrost-http') === null
      ? 'not installed (go install github.com/maximhq/bifrost/transports/bifrost-http@latest)'
      : null,
  refuses: (shape) => (shape.client === 'chat' && shape.native === 'chat' ? null : 'the adapter covers chat only'),
  launch: ({ folder, port, upstreamOrigin }) => {
    const keys = [{ name: 'bench', value: 'bench', models: ['*'], weight: 1 }];
    const config = {
      client: { enable_logging: false, drop_excess_requests: false },
      providers: { openai: { keys, network_config: { base_url: upstreamOrigin } } },
      config_store: { enabled: false },
    };
    writeConfiguration(folder, 'config.json', JSON.stringify(config));
    return {
      command: findBinary('bifrost-http') ?? 'bifrost-http',
      args: ['-app-dir', folder, '-host', '127.0.0.1', '-port', String(port), '-log-level', 'error'],
      origin: `http://127.0.0.1:${port}`,
      readyPath: '/health',
      runsOnNode: false,
      tellsLoopDelay: false,
      headers: () => HEADERS,
      modelName: (name) => `openai/${name}`,
    };
  },
};

/** `curl -sL https://agentgateway.dev/install | bash` */
export const agentgateway: Adapter = {
  name: 'agentgateway',
  missing: () =>
    findBinary('agentgateway') === null ? 'not installed (curl -sL https://agentgateway.dev/install | bash)' : null,
  refuses: (shape) => (shape.client === 'chat' && shape.native === 'chat' ? null : 'the adapter covers chat only'),
  launch: ({ folder, port, upstreamOrigin }) => {
    const backend = { ai: { name: 'bench', hostOverride: new URL(upstreamOrigin).host, provider: { openAI: {} } } };
    const route = { policies: { backendAuth: { key: 'bench' } }, backends: [backend] };
    const config = { binds: [{ port, listeners: [{ routes: [route] }] }] };
    const file = writeConfiguration(folder, 'agentgateway.yaml', JSON.stringify(config));
    return {
      command: findBinary('agentgateway') ?? 'agentgateway',
      args: ['-f', file],
      origin: `http://127.0.0.1:${port}`,
      readyPath: '/',
      runsOnNode: false,
      tellsLoopDelay: false,
      headers: () => HEADERS,
    };
  },
};
