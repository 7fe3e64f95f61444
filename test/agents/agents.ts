/** The coding agents, pinned: how they are installed and run. */
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { installLocked } from './install.ts';
import { type Ended, run } from './processes.ts';
import type { Agent, Place } from './set-ups.ts';

/** Only so that an agent that hangs ends some time: what a slow machine needs for a turn is far less. */
const RUN_MS = 600_000;

/** The folder with the agents of npm in it. They are kept for the next run: they are large. */
export async function installAgents(): Promise<string> {
  const folder = join(import.meta.dirname, '../../e2e/agents');
  await installLocked(folder, 'the agents; some are large');
  return folder;
}

/** Of the agent as it is installed, by npm or in a virtual environment. */
export async function versionOf(agent: Agent, installed: string): Promise<string> {
  if ('npm' in agent.package) {
    const manifest = join(installed, 'node_modules', agent.package.npm, 'package.json');
    return (JSON.parse(await readFile(manifest, 'utf8')) as { version: string }).version;
  }
  const name = agent.package.pypi.replaceAll('-', '_');
  const [found = ''] = globSync(`lib/*/site-packages/${name}-*.dist-info`, { cwd: installed });
  return new RegExp(`${name}-(.*)\\.dist-info$`).exec(found)?.[1] ?? 'of an unknown version';
}

export interface Task extends Place {
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
