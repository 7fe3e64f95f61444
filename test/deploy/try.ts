/** deploy/try: what a fresh machine needs for each way to run a gateway, done and timed. */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { buildImage } from './dockerfile.ts';
import { rollingUpgrade } from './rolling.ts';
import { root, toolPath } from './tools.ts';

const run = promisify(execFile);
const env = { ...process.env, PATH: [dirname(process.execPath), process.env.PATH].join(delimiter) };
const folder = mkdtempSync(join(tmpdir(), 'gateway-try-'));
// Another user may have to come as far as its own file system.
chmodSync(folder, 0o755);

function print(name: string, ms: number, note = ''): void {
  process.stdout.write(`${(ms / 1_000).toFixed(1).padStart(7)} s  ${name}${note === '' ? '' : `: ${note}`}\n`);
}

async function timed<T>(name: string, work: () => Promise<T>, note: (result: T) => string = () => ''): Promise<T> {
  const begin = performance.now();
  const result = await work();
  print(name, performance.now() - begin, note(result));
  return result;
}

const npm = (cwd: string, ...args: string[]) =>
  run('npm', [...args, '--no-audit', '--no-fund', '--prefer-offline'], { cwd, env });

/** Starts it, asks it once, and stops it: what came of the question. */
async function firstToken(program: string, args: readonly string[], cwd: string): Promise<string> {
  const child = spawn(program, args, {
    cwd,
    env: { ...env, GATEWAY_PORT: '0', GATEWAY_ADMIN_PORT: '0', GATEWAY_DISCOVER_LOCAL: 'off', GATEWAY_LOG: 'warn' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const gone = once(child, 'exit');
  try {
    let output = '';
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      output += chunk.toString();
      if (/listens on http/.test(output) && /mg_c_\w{20}/.test(output)) break;
    }
    const origin = /listens on (http:\S+)/.exec(output)?.[1] ?? '';
    const response = await fetch(`${origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${/mg_c_\w+/.exec(output)?.[0] ?? ''}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sandbox/alpha', messages: [{ role: 'user', content: 'Hello!' }] }),
    });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`the first request got ${response.status}: ${text}`);
    return 'status 200';
  } finally {
    child.kill('SIGINT');
    await gone;
  }
}

async function clone(): Promise<void> {
  const copy = join(folder, 'clone');
  const begin = performance.now();
  await timed('git clone', () => run('git', ['clone', '--quiet', '--depth', '1', `file://${root}`, copy]));
  await timed('npm ci', () => npm(copy, 'ci'));
  await timed('npm start, to the first answer', () => firstToken('node', ['bin/gateway.mjs', 'start'], copy), String);
  print('a clone to its first token', performance.now() - begin);
}

async function fromPackage(): Promise<void> {
  const copy = join(folder, 'packed');
  await run('git', ['clone', '--quiet', '--depth', '1', `file://${root}`, copy]);
  await npm(copy, 'ci', '--ignore-scripts');
  const { stdout } = await timed('npm pack, with the build', () => npm(copy, 'pack', '--silent'));
  const tarball = join(copy, stdout.trim().split('\n').at(-1) ?? '');
  const empty = join(folder, 'empty');
  mkdirSync(empty);
  await timed('npm install of the tarball in an empty folder', () => npm(empty, 'install', tarball));
  const size = execFileSync('du', ['-sm', join(empty, 'node_modules')])
    .toString()
    .split('\t')[0];
  await timed(
    'npx model-gateway, to the first answer',
    () => firstToken(join(empty, 'node_modules/.bin/model-gateway'), [], empty),
    (status) => `${status}, ${size} MB installed`,
  );
}

async function image(): Promise<void> {
  const built = await timed('all steps of deploy/Dockerfile', () =>
    buildImage(root, join(root, 'deploy/Dockerfile'), join(folder, 'image')),
  );
  for (const { step, ms } of built.steps) print(`RUN ${step.slice(0, 70)}`, ms);
  const [program = '', ...args] = built.command;
  await timed(
    'its entry point, to the first answer',
    () => firstToken(program, args, join(built.folder, built.workdir)),
    String,
  );
}

async function rollout(): Promise<void> {
  if (toolPath('nginx') === null) {
    process.stdout.write('nginx is not installed: the rollout is left out\n');
    return;
  }
  const report = await timed('two replicas behind nginx, and a rolling upgrade under load', rollingUpgrade);
  for (const [name, ms] of Object.entries(report.ms)) print(name, ms);
  const { complete, failures, charged, audit } = report;
  process.stdout.write(`${complete} answers, ${failures.length} failed, ${charged} charged; ${audit}`);
  if (failures.length > 0 || charged !== complete) throw new Error(failures.join('\n'));
}

const STORIES: Readonly<Record<string, () => Promise<void>>> = { clone, package: fromPackage, image, rollout };

try {
  const wanted = process.argv.slice(2);
  const unknown = wanted.find((name) => !Object.hasOwn(STORIES, name));
  if (unknown !== undefined) throw new Error(`${unknown} is not one of ${Object.keys(STORIES).join(', ')}`);
  for (const [name, story] of Object.entries(STORIES)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    process.stdout.write(`\n${name}\n`);
    await story();
  }
} finally {
  if (existsSync(folder)) rmSync(folder, { recursive: true, force: true });
}
