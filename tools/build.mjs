// Builds dist/: the sources as JavaScript, what they read at run time, and which commit they are.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const at = (...path) => join(root, ...path);

rmSync(at('dist'), { recursive: true, force: true });
execFileSync(process.execPath, [at('node_modules/typescript/bin/tsc'), '-p', at('tsconfig.build.json')], {
  cwd: root,
  stdio: 'inherit',
});
for (const asset of ['ledger/migrations', 'config/model-data.json']) {
  cpSync(at('src', asset), at('dist', asset), { recursive: true });
}
// The API reference: one file, with the licences of what is in it. It comes from the packages of the site, so that those of the
// gateway stay few.
if (!existsSync(at('site/node_modules/redoc'))) {
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  execFileSync(npm, ['ci', '--prefix', at('site'), ...flags], { cwd: at('site'), stdio: 'inherit' });
}
for (const name of ['redoc.standalone.js', 'redoc.standalone.js.LICENSE.txt']) {
  cpSync(at('site/node_modules/redoc/bundles', name), at('dist/reference', name));
}
writeFileSync(at('dist/build.json'), `${JSON.stringify({ commit: commit() })}\n`);

/** Null where the sources are no repository; GATEWAY_COMMIT gives it then, as in the image. */
function commit() {
  if (process.env.GATEWAY_COMMIT) return process.env.GATEWAY_COMMIT;
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] })
      .toString()
      .trim();
  } catch {
    return null;
  }
}
