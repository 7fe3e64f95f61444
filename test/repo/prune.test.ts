import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../support/temporary-folder.ts';

const PRUNE = resolve(import.meta.dirname, '../../tools/prune-packages.mjs');

test('what is removed from the packages of the image is no code and no licence', () => {
  const folder = temporaryFolder('gateway-prune');
  const kept = [
    '@scope/one/dist/index.mjs',
    '@scope/one/package.json',
    'gpt-tokenizer/esm/bpeRanks/o200k_base.js',
    'gpt-tokenizer/esm/encoding/o200k_base.js',
    'two/LICENSE.md',
    'two/dist/doc/document.js',
    'two/dist/test/index.cjs',
    'two/lib/parser.wasm',
    'two/node_modules/three/index.js',
    'two/table.json',
  ];
  const removed = [
    '@scope/one/dist/index.d.mts',
    '@scope/one/dist/index.mjs.map',
    '@scope/one/src/index.ts',
    'gpt-tokenizer/cjs/main.js',
    'gpt-tokenizer/data/o200k_base.tiktoken',
    'gpt-tokenizer/esm/model/gpt-5.js',
    'two/README.md',
    'two/examples/server.js',
    'two/node_modules/three/test/index.js',
  ];
  for (const file of [...kept, ...removed]) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), '');
  }
  execFileSync(process.execPath, [PRUNE, folder]);
  const left = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  assert.deepEqual(
    left.map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1)).toSorted(),
    kept.toSorted(),
  );
});
