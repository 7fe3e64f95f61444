/** The build of the console. It is in the package, and in a checkout after `npm ci`; without it the gateway runs all the same. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** As deep below the package in `dist` as in `src`. */
export const CONSOLE_BUILD = fileURLToPath(new URL('../../console/dist', import.meta.url));
export const HOW_TO_BUILD = 'The console is not built: run "npm ci && npm run console:build" in a checkout.';

export function consoleIsBuilt(build: string = CONSOLE_BUILD): boolean {
  return existsSync(join(build, 'index.html'));
}
