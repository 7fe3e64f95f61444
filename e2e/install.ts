/** Installs the pinned clients: JavaScript by npm into this folder, Python into a virtual environment beside it. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const HERE = import.meta.dirname;
const INSTALL_MS = 600_000;

function run(command: string, args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(command, args, { cwd: HERE, encoding: 'utf8', timeout: INSTALL_MS });
  if (error) throw error;
  if (status !== 0) throw new Error(`${command} ${args[0]} failed: ${stderr.trim().slice(-500)}`);
}

/** Only where the lock file has changed since. */
export function installNodeClients(): void {
  const lock = readFileSync(join(HERE, 'package-lock.json'), 'utf8');
  const done = join(HERE, 'node_modules/.installed');
  if (existsSync(done) && readFileSync(done, 'utf8') === lock) return;
  console.log('Installing the JavaScript clients …');
  run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund']);
  writeFileSync(done, lock);
}

/** The interpreter, or why there is none. */
export function installPythonClients(): { readonly python: string } | { readonly reason: string } {
  const wanted = readFileSync(join(HERE, 'python/requirements.txt'), 'utf8');
  const folder = join(HERE, 'node_modules/.python');
  const python = join(folder, 'bin/python');
  const done = join(folder, '.installed');
  if (existsSync(done) && readFileSync(done, 'utf8') === wanted) return { python };
  try {
    console.log('Installing the Python clients …');
    run('python3', ['-m', 'venv', folder]);
    run(python, ['-m', 'pip', 'install', '--quiet', '--no-deps', '-r', 'python/requirements.txt']);
    writeFileSync(done, wanted);
    return { python };
  } catch (error) {
    return { reason: error instanceof Error ? error.message.replaceAll(/\s+/g, ' ').slice(0, 200) : String(error) };
  }
}
