/** How each coding agent is pointed at a gateway and run without a person: the settings that docs/connect/clients tells. */
import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Format } from '../../src/core/endpoints.ts';

/** Where an agent runs, and what it is asked. */
export interface Place {
  /** Where the agents are installed: the folder with their `node_modules`. */
  readonly installed: string;
  /** A folder for the agent's home; nothing of the user's own is seen. A resumed session needs the one of the first. */
  readonly home: string;
  readonly workFolder: string;
  readonly key: string;
  /** Without and with `/v1`. */
  readonly origin: string;
  readonly baseUrl: string;
  readonly model: string;
  readonly prompt: string;
  /** Go on with the last session of this home. */
  readonly resumes?: boolean | undefined;
  /** Streamed, also where the agent is asked for whole answers otherwise. */
  readonly streams?: boolean | undefined;
  /** Over a WebSocket, where the agent can. */
  readonly webSocket?: boolean | undefined;
  /** The program of an MCP server whose tools it is to offer, where the agent can. */
  readonly mcpServer?: string | undefined;
  /** It takes the gateway for OpenAI, and has a conversation of more tokens than this compacted, where the agent can. */
  readonly compactsAt?: number | undefined;
}

export interface SetUp {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface Agent {
  readonly title: string;
  /** Where it comes from; the lock files of e2e/ have its version. */
  readonly package: { readonly npm: string } | { readonly pypi: string };
  readonly route: Format;
  /** Streamed by default. */
  readonly mode?: 'whole';
  /** What it asks for on the internet although it is told not to; nothing of it gets through here. */
  readonly reaches?: readonly string[];
  setUp(place: Place): Promise<SetUp>;
  /** What its user reads of its output: the answer, or what is wrong. */
  shown(stdout: string, stderr: string): string;
}

export function assertStaysHere({ reaches = [] }: Agent, asked: readonly string[]): void {
  const strange = asked.filter((host) => !reaches.includes(host));
  assert.deepEqual(strange, [], `something outside of this machine is contacted: ${strange.join(', ')}`);
}

/** The JSON objects that are lines of a text. */
function jsonLines(text: string): Record<string, unknown>[] {
  return text.split('\n').flatMap((line) => {
    try {
      return line.startsWith('{') || line.startsWith('[') ? [JSON.parse(line)].flat() : [];
    } catch {
      return [];
    }
  });
}

/** The first string under one of these names, however deep. */
function textUnder(value: unknown, names: readonly string[]): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  for (const name of names) {
    const found = (value as Record<string, unknown>)[name];
    if (typeof found === 'string' && found !== '') return found;
  }
  for (const inner of Object.values(value)) {
    const found = textUnder(inner, names);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function writeJson(folder: string, name: string, value: object): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, name), JSON.stringify(value, null, 2));
}

/** What a user tells an agent that knows no limits of the gateway's models, from `GET /v1/models`. */
function limitsOf(model: string): { readonly context: number; readonly output: number; readonly reasons: boolean } {
  return model === 'sandbox/tiny'
    ? { context: 2_048, output: 256, reasons: false }
    : { context: 128_000, output: 8_192, reasons: true };
}

const claude: Agent = {
  title: 'Claude Code',
  package: { npm: '@anthropic-ai/claude-code' },
  route: 'messages',
  async setUp({ installed, home, key, origin, model, prompt, resumes, mcpServer }) {
    // The wrapper works without the package's install script.
    const script = join(installed, 'node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs');
    const tools = mcpServer === undefined ? 'Read,Edit,Bash' : 'mcp__house';
    const asked = ['-p', prompt, '--model', model, '--output-format', 'json', '--allowedTools', tools];
    // Tools that are loaded from the start are sent as such, and those that come later in the conversation.
    const house = { command: process.execPath, args: [mcpServer ?? ''], alwaysLoad: true };
    if (mcpServer !== undefined) await writeJson(home, 'mcp.json', { mcpServers: { house } });
    const mcp = mcpServer === undefined ? [] : ['--strict-mcp-config', '--mcp-config', join(home, 'mcp.json')];
    return {
      command: process.execPath,
      args: [script, ...asked, ...mcp, ...(resumes ? ['--continue'] : [])],
      env: {
        ANTHROPIC_BASE_URL: origin,
        ANTHROPIC_AUTH_TOKEN: key,
        CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY: '1',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
        DISABLE_TELEMETRY: '1',
      },
    };
  },
  shown: (stdout, stderr) => textUnder(jsonLines(stdout).at(-1), ['result']) ?? lastLines(stdout, stderr),
};

const codex: Agent = {
  title: 'Codex',
  package: { npm: '@openai/codex' },
  route: 'responses',
  async setUp({ installed, home, key, baseUrl, model, prompt, resumes, webSocket, compactsAt }) {
    const asOpenAI = [`openai_base_url = "${baseUrl}"`, `model_auto_compact_token_limit = ${compactsAt}`];
    const config = [
      `model = "${model}"`,
      ...(compactsAt === undefined ? ['model_provider = "gateway"'] : asOpenAI),
      'check_for_update_on_startup = false',
      '[analytics]',
      'enabled = false',
      '[features]',
      'plugins = false',
      'remote_plugin = false',
      'apps = false',
      '[model_providers.gateway]',
      'name = "Model Gateway"',
      `base_url = "${baseUrl}"`,
      'env_key = "GATEWAY_KEY"',
      'wire_api = "responses"',
      ...(webSocket ? ['supports_websockets = true'] : []),
    ];
    await writeFile(join(home, 'config.toml'), `${config.join('\n')}\n`);
    const script = join(installed, 'node_modules/@openai/codex/bin/codex.js');
    // Its own sandbox needs rights that a container does not give; the folder is a throw-away one.
    const flags = ['--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'];
    const asked = resumes ? ['exec', ...flags, 'resume', '--last', prompt] : ['exec', ...flags, prompt];
    const named = compactsAt === undefined ? 'GATEWAY_KEY' : 'CODEX_API_KEY';
    return { command: process.execPath, args: [script, ...asked], env: { CODEX_HOME: home, [named]: key } };
  },
  // The first ones tell that it tries again.
  shown: (stdout, stderr) =>
    stdout.trim() || ([...stderr.matchAll(/ERROR: (.*)/g)].at(-1)?.[1] ?? lastLines(stdout, stderr)),
};

const opencode: Agent = {
  title: 'opencode',
  package: { npm: 'opencode-ai' },
  route: 'chat',
  reaches: ['registry.npmjs.org:443'],
  async setUp({ installed, home, key, baseUrl, model, prompt, resumes }) {
    const { context, output } = limitsOf(model);
    await writeJson(join(home, '.config/opencode'), 'opencode.json', {
      $schema: 'https://opencode.ai/config.json',
      autoupdate: false,
      share: 'disabled',
      provider: {
        gateway: {
          npm: '@ai-sdk/openai-compatible',
          name: 'Model Gateway',
          options: { baseURL: baseUrl, apiKey: '{env:GATEWAY_KEY}' },
          models: { [model]: { name: model, limit: { context, output } } },
        },
      },
    });
    return {
      // The package's own script needs its install script; the program is beside it.
      command: join(installed, `node_modules/opencode-linux-${process.arch}/bin/opencode`),
      args: [
        'run',
        '--format',
        'json',
        '--auto',
        '--pure',
        '--model',
        `gateway/${model}`,
        ...(resumes ? ['--continue'] : []),
        prompt,
      ],
      env: {
        GATEWAY_KEY: key,
        OPENCODE_DISABLE_AUTOUPDATE: '1',
        OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
        OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
        OPENCODE_DISABLE_MODELS_FETCH: '1',
      },
    };
  },
  shown(stdout, stderr) {
    const lines = jsonLines(stdout);
    const failed = lines.find(({ type }) => type === 'error');
    if (failed) return textUnder(failed, ['message']) ?? JSON.stringify(failed);
    const texts = lines.filter(({ type }) => type === 'text').map((line) => textUnder(line, ['text']) ?? '');
    return texts.join('\n') || lastLines(stdout, stderr);
  },
};

const qwen: Agent = {
  title: 'qwen-code',
  package: { npm: '@qwen-code/qwen-code' },
  route: 'chat',
  async setUp({ installed, home, key, baseUrl, model, prompt, resumes }) {
    const { context, output } = limitsOf(model);
    await writeJson(join(home, '.qwen'), 'settings.json', {
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
      general: { disableAutoUpdate: true, enableAutoUpdate: false },
      security: { auth: { selectedType: 'openai' } },
      // It would ask for a summary of each session otherwise.
      memory: { enableManagedAutoMemory: false, enableManagedAutoDream: false },
      model: { generationConfig: { contextWindowSize: context, samplingParams: { max_tokens: output } } },
    });
    const script = join(installed, 'node_modules/.bin/qwen');
    return {
      command: process.execPath,
      args: [script, prompt, '--yolo', '--output-format', 'json', ...(resumes ? ['--continue'] : [])],
      env: { OPENAI_API_KEY: key, OPENAI_BASE_URL: baseUrl, OPENAI_MODEL: model },
    };
  },
  shown(stdout, stderr) {
    const result = jsonLines(stdout).findLast(({ type }) => type === 'result');
    return textUnder(result, ['result', 'message']) ?? lastLines(stdout, stderr);
  },
};

const cline: Agent = {
  title: 'Cline',
  package: { npm: 'cline' },
  route: 'chat',
  // Its feature flags.
  reaches: ['data.cline.bot:443'],
  async setUp({ installed, home, key, baseUrl, model, prompt, resumes }) {
    const script = join(installed, 'node_modules/.bin/cline');
    const data = join(home, '.cline/data');
    const settings = { telemetryOptOut: true, autoUpdateEnabled: false };
    await writeJson(join(data, 'settings'), 'global-settings.json', settings);
    const auth = [script, 'auth', '-p', 'openai-compatible', '-k', key, '-m', model, '-b', baseUrl, '--data-dir', data];
    const asked = [script, '--json', '--data-dir', data, '-P', 'openai-compatible', '-m', model];
    // `--id` opens its terminal interface and drops the prompt; an editor goes on with a session.
    const [session = ''] = resumes ? await readdir(join(data, 'sessions')) : [];
    const editor = [process.execPath, join(import.meta.dirname, 'acp.ts'), session, model, prompt];
    const line = resumes ? [...editor, script, '--acp', '--data-dir', data] : [...asked, prompt];
    return {
      command: 'sh',
      args: ['-c', `${auth.map(quoted).join(' ')} >&2 && exec ${line.map(quoted).join(' ')}`],
      // Sessions in the process itself, instead of in one for the whole machine that outlives it.
      env: {
        CLINE_SESSION_BACKEND_MODE: 'local',
        ...(resumes ? { CLINE_PROVIDER: 'openai-compatible', CLINE_MODEL: model, CLINE_API_KEY: key } : {}),
      },
    };
  },
  shown(stdout, stderr) {
    const lines = jsonLines(stdout);
    const failed = lines.findLast(({ type }) => type === 'error');
    const result = lines.findLast(({ type }) => type === 'run_result');
    return textUnder(failed, ['message', 'error']) ?? textUnder(result, ['text', 'error']) ?? lastLines(stdout, stderr);
  },
};

const continueCli: Agent = {
  title: 'Continue',
  package: { npm: '@continuedev/cli' },
  route: 'chat',
  async setUp({ installed, home, key, baseUrl, model, prompt, resumes }) {
    const folder = join(home, '.continue');
    const config = join(folder, 'config.yaml');
    const settings = {
      name: 'gateway',
      provider: 'openai',
      model,
      apiKey: key,
      apiBase: baseUrl,
      roles: ['chat'],
      capabilities: ['tool_use'],
    };
    // YAML is a superset of JSON.
    await writeJson(folder, 'config.yaml', { name: 'gateway', version: '0.0.1', schema: 'v1', models: [settings] });
    const script = join(installed, 'node_modules/.bin/cn');
    return {
      command: process.execPath,
      args: [script, '-p', prompt, '--config', config, '--auto', ...(resumes ? ['--resume'] : [])],
      env: { CONTINUE_CLI_ENABLE_TELEMETRY: '0', CONTINUE_GLOBAL_DIR: folder, CONTINUE_TELEMETRY_ENABLED: '0' },
    };
  },
  shown: (stdout, stderr) => stdout.trim() || lastLines(stdout, stderr),
};

const pi: Agent = {
  title: 'pi',
  package: { npm: '@earendil-works/pi-coding-agent' },
  route: 'responses',
  async setUp({ installed, home, key, baseUrl, model, prompt, resumes }) {
    const { context, output, reasons } = limitsOf(model);
    const folder = join(home, '.pi/agent');
    await writeJson(folder, 'settings.json', { enableInstallTelemetry: false });
    await writeJson(folder, 'models.json', {
      providers: {
        gateway: {
          baseUrl,
          api: 'openai-responses',
          apiKey: '$GATEWAY_KEY',
          models: [{ id: model, contextWindow: context, maxTokens: output, reasoning: reasons }],
        },
      },
    });
    const script = join(installed, 'node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js');
    const asked = ['-p', '--provider', 'gateway', '--model', model, ...(resumes ? ['--continue'] : []), prompt];
    return { command: process.execPath, args: [script, ...asked], env: { GATEWAY_KEY: key, PI_OFFLINE: '1' } };
  },
  shown: (stdout, stderr) => stdout.trim() || lastLines(stdout, stderr),
};

/** Its streams do not ask for the usage, so that only whole answers show it. */
const aider: Agent = {
  title: 'aider',
  package: { pypi: 'aider-chat' },
  route: 'chat',
  mode: 'whole',
  reaches: ['raw.githubusercontent.com:443'],
  async setUp({ installed, key, baseUrl, model, prompt, resumes, streams }) {
    const quiet = ['--no-analytics', '--no-check-update', '--no-show-model-warnings', '--no-show-release-notes'];
    const plain = ['--no-git', '--no-gitignore', '--no-pretty', streams ? '--stream' : '--no-stream', '--yes-always'];
    return {
      command: join(installed, 'bin/aider'),
      args: [
        ...quiet,
        ...plain,
        ...(resumes ? ['--restore-chat-history'] : []),
        '--model',
        `openai/${model}`,
        '--message',
        prompt,
      ],
      env: { OPENAI_API_KEY: key, OPENAI_API_BASE: baseUrl, LITELLM_LOCAL_MODEL_COST_MAP: 'True', COLUMNS: '400' },
    };
  },
  shown(stdout, stderr) {
    const failed = /^litellm\.\w+: .*/m.exec(stdout)?.[0];
    // What comes before it is about its own start.
    return failed ?? (stdout.split(/^Repo-map:.*$/m)[1]?.trim() || lastLines(stdout, stderr));
  },
};

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** The end of what was printed, where nothing in it says what it is. */
export function lastLines(stdout: string, stderr: string): string {
  const lines = `${stdout}\n${stderr}`.split('\n').map((line) => line.trim());
  return lines
    .filter((line) => line !== '' && !line.startsWith('at '))
    .slice(-3)
    .join(' ');
}

export const AGENTS = {
  claude,
  codex,
  opencode,
  qwen,
  cline,
  continue: continueCli,
  pi,
} as const satisfies Record<string, Agent>;

/** Agents of PyPI: `installed` is their virtual environment. */
export const PYTHON_AGENTS = { aider } as const satisfies Record<string, Agent>;

const ALL = { ...AGENTS, ...PYTHON_AGENTS };
export type AgentName = keyof typeof ALL;

export function agentOf(name: AgentName): Agent {
  return ALL[name];
}
