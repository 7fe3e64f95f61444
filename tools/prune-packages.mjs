// `node tools/prune-packages.mjs node_modules`: removes what no program loads from installed packages, for the image: 104 MB become 34.
// Licences stay.
import { existsSync, lstatSync, readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';

/** Source maps, types and the sources that they were made from, and what is written for people. */
const UNUSED_FILE = /\.(?:map|[cm]?ts|tsx|md|markdown|html)$/;
const LICENCE = /licen[cs]e|notice|copying/i;
/** Only at the top of a package: further down, a folder of such a name can be code, as `yaml/dist/doc` is. */
const UNUSED_FOLDERS = new Set([
  '.github',
  'benchmark',
  'benchmarks',
  'docs',
  'example',
  'examples',
  'fixtures',
  'tap-snapshots',
  'test',
  'tests',
]);
/** The tokenizer has every vocabulary twice and its models as well; `src/counting/worker.ts` loads two vocabularies, as ES modules. */
const UNUSED_PARTS = {
  'gpt-tokenizer': ['cjs', 'data', 'esm/model', 'src'],
};

function packagesIn(folder) {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (name.startsWith('.') || !lstatSync(path).isDirectory()) return [];
    if (name.startsWith('@')) return packagesIn(path);
    const inner = join(path, 'node_modules');
    return [path, ...(existsSync(inner) ? packagesIn(inner) : [])];
  });
}

function prune(folder) {
  for (const path of packagesIn(folder)) {
    const parts = [...UNUSED_FOLDERS, ...(UNUSED_PARTS[basename(path)] ?? [])];
    for (const part of parts) rmSync(join(path, part), { recursive: true, force: true });
  }
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || LICENCE.test(entry.name) || !UNUSED_FILE.test(entry.name)) continue;
    rmSync(join(entry.parentPath, entry.name));
  }
}

const [, , folder] = process.argv;
if (folder === undefined) throw new Error('expected a folder of installed packages');
prune(folder);
