/** Programs that the checks of deploy/ use. `tools.sh` beside this file installs them; a missing one is a failure in CI only. */
import { existsSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';

export const root = resolve(import.meta.dirname, '../..');

/** Where `tools.sh` puts them. */
const INSTALLED = join(root, 'node_modules/.cache/deploy-tools/bin');

export function toolPath(name: string): string | null {
  for (const folder of [INSTALLED, ...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']) {
    if (folder !== '' && existsSync(join(folder, name))) return join(folder, name);
  }
  return null;
}

export interface Tool {
  readonly path: string;
  /** Of a test that needs it. */
  readonly skip: string | false;
}

export function tool(name: string): Tool {
  const path = toolPath(name);
  if (path !== null) return { path, skip: false };
  if (process.env.CI !== undefined) throw new Error(`${name} is not installed: run test/deploy/tools.sh`);
  return { path: name, skip: `${name} is not installed (test/deploy/tools.sh)` };
}
