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
  compress();
  const bytes = firstLoad();
  console.log(`The console is built: ${(bytes / 1000).toFixed(0)} KB compressed for its first page.`);
  if (bytes > FIRST_LOAD_MAX) throw new Error(`its first page may have ${FIRST_LOAD_MAX / 1000} KB`);
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
function compress() {
  const folder = join(root, 'dist', 'assets');
  for (const name of readdirSync(folder).filter((file) => /\.(js|css|svg)$/.test(file))) {
    const bytes = readFileSync(join(folder, name));
    writeFileSync(join(folder, `${name}.gz`), gzipSync(bytes, { level: 9 }));
    const quality = { [constants.BROTLI_PARAM_QUALITY]: 11 };
    writeFileSync(join(folder, `${name}.br`), brotliCompressSync(bytes, { params: quality }));
  }
}

/** The page and everything that it names, as gzip: the larger of the two. */
function firstLoad() {
  const page = readFileSync(join(root, 'dist', 'index.html'));
  const names = [...page.toString().matchAll(/(?:src|href)="\/assets\/([^"]+)"/g)].map((match) => match[1]);
  const files = names.map((name) => readFileSync(join(root, 'dist', 'assets', `${name}.gz`)).length);
  return files.reduce((sum, size) => sum + size, gzipSync(page).length);
}
