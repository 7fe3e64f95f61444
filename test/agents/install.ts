/** Installs what a lock file names, by npm, in the folder of that file; again only where the file has changed since. */
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './processes.ts';

const INSTALL_MS = 600_000;

export async function installLocked(folder: string, what: string): Promise<void> {
  const lock = await readFile(join(folder, 'package-lock.json'), 'utf8');
  const done = join(folder, 'node_modules/.installed');
  if (existsSync(done) && (await readFile(done, 'utf8')) === lock) return;
  console.log(`Installing ${what} …`);
  // Not `ci`: it refuses a lock file without the packages of other platforms, and not all of those are in the registry.
  const flags = ['--no-save', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'];
  await runInstaller('npm', ['install', ...flags], folder);
  await writeFile(done, lock);
}

/** Throws the last words of an installer that fails. */
export async function runInstaller(command: string, args: readonly string[], cwd: string): Promise<void> {
  const env = Object.fromEntries(Object.entries(process.env).map(([name, value]) => [name, value ?? '']));
  const { code, stderr } = await run(command, args, { cwd, env, timeoutMs: INSTALL_MS });
  if (code !== 0) throw new Error(`${command} ${args[0]} failed: ${stderr.trim().slice(-500)}`);
}
