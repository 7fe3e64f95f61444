/** Programs that the checks of deploy/ use. `tools.sh` beside this file installs them; what needs a missing one is skipped. */
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
  return { path: name, skip: `${name} is not installed (test/deploy/tools.sh)` };
}
