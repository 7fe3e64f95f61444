/** The two coding agents, pinned: how they are installed, set up for a gateway, and run without a person. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CreatedKey } from '../../src/admin/api.ts';

const PACKAGES = { '@anthropic-ai/claude-code': '2.1.325', '@openai/codex': '0.166.0' } as const;

/** Longest time that an agent may take for its loop. */
const RUN_MS = 90_000;
const INSTALL_MS = 300_000;

export type AgentName = 'claude' | 'codex';

export const AGENT_NAMES: Readonly<Record<AgentName, string>> = { claude: 'Claude Code', codex: 'Codex' };

export interface Ended {
  /** Null when it was killed, because its time was over. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Place {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

function run(command: string, args: readonly string[], { cwd, env, timeoutMs }: Place): Promise<Ended> {
  return new Promise((resolve, reject) => {
    // A process group of its own, so that what the agent has started ends with it.
    const child = spawn(command, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    const texts = { stdout: '', stderr: '' };
    const endGroup = (): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      } catch {
        // The group is gone already.
      }
    };
    const timer = setTimeout(endGroup, timeoutMs);
    child.stdout.on('data', (data: Buffer) => {
      texts.stdout += data.toString();
    });
    child.stderr.on('data', (data: Buffer) => {
      texts.stderr += data.toString();
    });
    child.once('error', reject);
    child.once('close', (code) => {
      clearTimeout(timer);
      endGroup();
      resolve({ code, ...texts });
    });
  });
}

/** The folder with both agents in it. It is kept for the next run: they are large. */
export async function installAgents(): Promise<string> {
  const versions = Object.values(PACKAGES).join('-');
  const folder = join(tmpdir(), `model-gateway-agents-${versions}`);
  if (existsSync(folder)) return folder;
  const wanted = Object.entries(PACKAGES).map(([name, version]) => `${name}@${version}`);
  console.log(`Installing ${wanted.join(' and ')}, about 800 MB on disk …`);
  const fresh = `${folder}.${process.pid}`;
  await mkdir(fresh);
  const flags = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--fetch-retries=1'];
  const env = Object.fromEntries(Object.entries(process.env).map(([name, value]) => [name, value ?? '']));
  const ended = await run('npm', ['install', '--prefix', fresh, ...flags, ...wanted], {
    cwd: fresh,
    env,
    timeoutMs: INSTALL_MS,
  });
  if (ended.code !== 0) {
    await rm(fresh, { recursive: true, force: true });
    const reason = /npm error .*/.exec(ended.stderr)?.[0] ?? ended.stderr.slice(-300);
    throw new Error(`npm could not install ${wanted.join(' and ')}; this needs the npm registry. ${reason}`);
  }
  for (const [name, version] of Object.entries(PACKAGES)) {
    const { version: got } = JSON.parse(await readFile(join(fresh, 'node_modules', name, 'package.json'), 'utf8'));
    if (got !== version) throw new Error(`npm installed ${name}@${got} instead of ${version}`);
  }
  await rename(fresh, folder);
  return folder;
}

export interface Task {
  readonly agent: AgentName;
  /** Where the agents are installed. */
  readonly installed: string;
  /** An empty folder for the agent's home; nothing of the user's own is seen. */
  readonly home: string;
  readonly workFolder: string;
  readonly key: CreatedKey;
  readonly model: string;
  readonly prompt: string;
  /** Everything that is not on this machine is sent here. */
  readonly proxy: string;
}

export async function runAgent(task: Task): Promise<Ended> {
  const { agent, installed, home, workFolder, key, proxy } = task;
  const own = agent === 'claude' ? claude(task) : await codex(task);
  const script = join(installed, 'node_modules', own.script);
  return run(process.execPath, [script, ...own.args], {
    cwd: workFolder,
    env: {
      PATH: process.env.PATH ?? '',
      HOME: home,
      TMPDIR: home,
      HTTP_PROXY: proxy,
      HTTPS_PROXY: proxy,
      ALL_PROXY: proxy,
      NO_PROXY: new URL(key.origin).hostname,
      ...own.env,
    },
    timeoutMs: RUN_MS,
  });
}

interface SetUp {
  readonly script: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

function claude({ key, model, prompt }: Task): SetUp {
  return {
    // Works without the package's install script.
    script: '@anthropic-ai/claude-code/cli-wrapper.cjs',
    args: ['-p', prompt, '--model', model, '--output-format', 'json', '--allowedTools', 'Read,Edit,Bash'],
    env: {
      ANTHROPIC_BASE_URL: key.origin,
      ANTHROPIC_AUTH_TOKEN: key.key,
      CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY: '1',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
    },
  };
}

async function codex({ key, model, prompt, home }: Task): Promise<SetUp> {
  const config = [
    `model = "${model}"`,
    'model_provider = "gateway"',
    'check_for_update_on_startup = false',
    '[analytics]',
    'enabled = false',
    '[features]',
    'plugins = false',
    'remote_plugin = false',
    'apps = false',
    '[model_providers.gateway]',
    'name = "Model Gateway"',
    `base_url = "${key.base_url}"`,
    'env_key = "GATEWAY_KEY"',
    'wire_api = "responses"',
  ];
  await writeFile(join(home, 'config.toml'), `${config.join('\n')}\n`);
  return {
    script: '@openai/codex/bin/codex.js',
    // Its own sandbox needs rights that a container does not give; the folder is a throw-away one.
    args: ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', prompt],
    env: { CODEX_HOME: home, GATEWAY_KEY: key.key },
  };
}
