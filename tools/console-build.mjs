/**
 * Builds the console into console/dist and says how large its first load is. With --prepare it never fails: an
 * install must not depend on it, and without development dependencies there is nothing to build with.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const FIRST_LOAD_MAX = 300_000;
const root = fileURLToPath(new URL('../console', import.meta.url));
const preparing = process.argv.includes('--prepare');

try {
  const { build } = await import('vite');
  await build({ root, configFile: join(root, 'vite.config.ts'), logLevel: 'warn' });
  // After the console, whose build begins with an empty folder.
  await build({ configFile: join(root, 'vite.account.config.ts'), logLevel: 'warn' });
  for (const [name, folder, base] of [
    ['The console', 'dist', '/'],
    ["The key holder's page", 'dist/account', '/account/'],
  ]) {
    compress(folder);
    const bytes = firstLoad(folder, base);
    console.log(`${name} is built: ${(bytes / 1000).toFixed(0)} KB compressed for its first load.`);
    if (bytes > FIRST_LOAD_MAX) throw new Error(`its first load may have ${FIRST_LOAD_MAX / 1000} KB`);
  }
} catch (error) {
  if (preparing && error?.code === 'ERR_MODULE_NOT_FOUND') {
    console.log('The console is not built: its tools are development dependencies. The gateway runs without it.');
  } else {
    console.error('The console could not be built; the gateway runs without it. To try again: npm run console:build');
    console.error(error);
    process.exitCode = preparing ? 0 : 1;
  }
}

/** The listener sends what the browser can read of these. */
function compress(build) {
  const folder = join(root, build, 'assets');
  for (const name of readdirSync(folder).filter((file) => /\.(js|css|svg)$/.test(file))) {
    const bytes = readFileSync(join(folder, name));
    writeFileSync(join(folder, `${name}.gz`), gzipSync(bytes, { level: 9 }));
    const quality = { [constants.BROTLI_PARAM_QUALITY]: 11 };
    writeFileSync(join(folder, `${name}.br`), brotliCompressSync(bytes, { params: quality }));
  }
}

/** The page and everything that it names, as gzip: the larger of the two. */
function firstLoad(build, base) {
  const page = readFileSync(join(root, build, 'index.html'));
  const named = new RegExp(`(?:src|href)="${base}assets/([^"]+)"`, 'g');
  const names = [...page.toString().matchAll(named)].map((match) => match[1]);
  const files = names.map((name) => readFileSync(join(root, build, 'assets', `${name}.gz`)).length);
  return files.reduce((sum, size) => sum + size, gzipSync(page).length);
}
