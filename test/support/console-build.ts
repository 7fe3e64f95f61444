/** The build that the listener serves, made again where a source is newer. */
import { execFile } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { oneAtATime } from './one-at-a-time.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

export function builtConsole(): Promise<void> {
  return oneAtATime('console-build', buildIfOlder);
}

async function buildIfOlder(): Promise<void> {
  const built = statSync(join(root, 'console/dist/account/index.html'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const pages = ['console/index.html', 'console/account/index.html'];
  const settings = ['console/vite.config.ts', 'console/vite.account.config.ts'];
  const sources = [...pages, ...settings, ...filesBelow('console/src')];
  if (sources.every((file) => statSync(join(root, file)).mtimeMs < built)) return;
  await promisify(execFile)(process.execPath, [join(root, 'tools/console-build.mjs')], { cwd: root });
}

function filesBelow(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name));
}
