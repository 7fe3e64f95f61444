/** The coding agents, pinned: how they are installed and run. */
import { spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AGENTS, type Agent, type Place as AgentPlace } from './set-ups.ts';

/** Only so that an agent that hangs ends some time: what a slow machine needs for a turn is far less. */
const RUN_MS = 600_000;
const INSTALL_MS = 600_000;

export interface Ended {
  /** Null when it was killed: its time was over, or it was stopped. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Place {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Stops it as Ctrl-C does. */
  readonly stop?: AbortSignal | undefined;
  /** Ends it whatever it does. */
  readonly kill?: AbortSignal | undefined;
}

function run(command: string, args: readonly string[], { cwd, env, timeoutMs, stop, kill }: Place): Promise<Ended> {
  return new Promise((resolve, reject) => {
    // A process group of its own, so that what the agent has started ends with it.
    const child = spawn(command, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    const texts = { stdout: '', stderr: '' };
    const signalGroup = (signal: NodeJS.Signals): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, signal);
      } catch {
        // The group is gone already.
      }
    };
    const timer = setTimeout(() => signalGroup('SIGKILL'), timeoutMs);
    stop?.addEventListener('abort', () => signalGroup('SIGINT'));
    kill?.addEventListener('abort', () => signalGroup('SIGKILL'));
    child.stdout.on('data', (data: Buffer) => {
      texts.stdout += data.toString();
    });
    child.stderr.on('data', (data: Buffer) => {
      texts.stderr += data.toString();
    });
    child.once('error', reject);
    child.once('close', (code) => {
      clearTimeout(timer);
      signalGroup('SIGKILL');
      resolve({ code, ...texts });
    });
  });
}

/** The folder with the agents in it. It is kept for the next run: they are large. */
export async function installAgents(agents: readonly Agent[] = Object.values(AGENTS)): Promise<string> {
  const packages = agents.flatMap((agent) => Object.entries(agent.packages));
  const wanted = packages.map(([name, version]) => `${name}@${version}`);
  const folder = join(tmpdir(), `model-gateway-agents-${hash('sha256', wanted.join(), 'hex').slice(0, 12)}`);
  if (existsSync(folder)) return folder;
  console.log(`Installing ${wanted.join(', ')}; some are large …`);
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
    throw new Error(`npm could not install ${wanted.join(', ')}; this needs the npm registry. ${reason}`);
  }
  for (const [name, version] of packages) {
    const { version: got } = JSON.parse(await readFile(join(fresh, 'node_modules', name, 'package.json'), 'utf8'));
    if (got !== version) throw new Error(`npm installed ${name}@${got} instead of ${version}`);
  }
  await rename(fresh, folder);
  return folder;
}

export interface Task extends AgentPlace {
  /** Everything that is not on this machine is sent here. */
  readonly proxy: string;
  readonly timeoutMs?: number | undefined;
  readonly stop?: AbortSignal | undefined;
  readonly kill?: AbortSignal | undefined;
}

export async function runAgent(agent: Agent, task: Task): Promise<Ended> {
  const { home, workFolder, proxy, timeoutMs = RUN_MS, stop, kill } = task;
  const { command, args, env } = await agent.setUp(task);
  return run(command, args, {
    cwd: workFolder,
    env: {
      PATH: process.env.PATH ?? '',
      HOME: home,
      TMPDIR: home,
      DO_NOT_TRACK: '1',
      HTTP_PROXY: proxy,
      HTTPS_PROXY: proxy,
      ALL_PROXY: proxy,
      NO_PROXY: '127.0.0.1,localhost',
      ...env,
    },
    timeoutMs,
    stop,
    kill,
  });
}
