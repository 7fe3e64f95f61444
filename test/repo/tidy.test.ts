/** The house rules that can be checked: who imports whom, no cycles, no dead files, no forbidden words, no test that nobody runs. */
import assert from 'node:assert/strict';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, test } from 'node:test';

const root = resolve(import.meta.dirname, '../..');

/** Folder → folders it may import from, in addition to itself: the table of docs/understand/architecture.md. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = importTable();
/** The command line and the composition of a process may import everything. */
const COMPOSERS = ['cli.ts', 'process'];
/** Entry points that nothing imports: started by a command, as a worker, or by their name. */
const ENTRY_POINTS = [
  'cli.ts',
  'sandbox/main.ts',
  'ledger/sqlite/background-thread.ts',
  'counting/worker.ts',
  'process/worker.ts',
  'observe/request-log/sqlite/thread.ts',
];

/** A folder outside of the repository. */
const OUTSIDE = ['..', 'shared'].join('/');

function importTable(): Record<string, readonly string[]> {
  const page = readFileSync(join(root, 'docs/understand/architecture.md'), 'utf8');
  const section = page.split('\n## Imports\n')[1]?.split('\n## ')[0] ?? '';
  const rows = [...section.matchAll(/^\| `([a-z]+)` \| (.*) \|$/gm)];
  return Object.fromEntries(
    rows.map(([, folder = '', imports = '']) => [
      folder,
      [...imports.matchAll(/`([^`]+)`/g)].map((name) => name[1] ?? ''),
    ]),
  );
}

function files(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name));
}

/** The folder below `src` that a file lies in, or its own name at the top. */
function folderOf(file: string): string {
  return file.split('/')[1] ?? '';
}

function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  const found = [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map((match) => match[1] ?? '');
  return found.map((name) => relative(root, resolve(root, dirname(file), name)));
}

const sources = files('src');
const graph = new Map(sources.map((file) => [file, importsOf(file)]));

describe('the folder names are the architecture', () => {
  test('imports run only to the folders that the table of architecture.md names', () => {
    const folders = new Set(sources.map(folderOf).filter((folder) => !COMPOSERS.includes(folder)));
    assert.deepEqual(Object.keys(MAY_IMPORT).toSorted(), [...folders].toSorted(), 'a row for every folder');
    const wrong: string[] = [];
    for (const [file, imports] of graph) {
      const folder = folderOf(file);
      if (COMPOSERS.includes(folder)) continue;
      const allowed = MAY_IMPORT[folder];
      assert.ok(allowed, `src/${folder} is not a folder of the architecture`);
      for (const name of imports) {
        const inside = name.replace(/^src\//, '');
        const ok =
          inside.startsWith(`${folder}/`) ||
          allowed.some((prefix) => inside === prefix || inside.startsWith(`${prefix}/`));
        if (!ok) wrong.push(`${file} imports ${name}`);
      }
    }
    assert.deepEqual(wrong, []);
  });

  test('only process, the command line and the ledger or the log itself name a driver of theirs', () => {
    const wrong = [...graph]
      .filter(([file]) => !COMPOSERS.includes(folderOf(file)))
      .filter(([file, imports]) =>
        imports.some((name) => {
          const owner = /^(src\/ledger|src\/observe\/request-log)\/(sqlite|postgres)\//.exec(name)?.[1];
          return owner !== undefined && !file.startsWith(`${owner}/`);
        }),
      )
      .map(([file]) => file);
    assert.deepEqual(wrong, []);
  });

  test('only process, provider and transport itself name what speaks HTTP; the others speak through the ports', () => {
    const wrong = [...graph]
      .filter(([file]) => !/^src\/(transport|provider)\//.test(file) && !COMPOSERS.includes(folderOf(file)))
      .flatMap(([file, imports]) => imports.map((name) => [file, name] as const))
      .filter(([, name]) => /^src\/transport\/(client|server)\//.test(name))
      .map(([file, name]) => `${file} imports ${name}`);
    assert.deepEqual(wrong, []);
  });

  test('no import cycles at run time', () => {
    const runtime = new Map(sources.map((file) => [file, runtimeImports(file)]));
    const state = new Map<string, 'open' | 'done'>();
    const cycles: string[] = [];
    const visit = (file: string, path: readonly string[]): void => {
      if (state.get(file) === 'done') return;
      if (state.get(file) === 'open') {
        cycles.push([...path.slice(path.indexOf(file)), file].join(' → '));
        return;
      }
      state.set(file, 'open');
      for (const next of runtime.get(file) ?? []) visit(next, [...path, file]);
      state.set(file, 'done');
    };
    for (const file of sources) visit(file, []);
    assert.deepEqual(cycles, []);
  });

  test('no dead files: each is an entry point or imported by another', () => {
    const imported = new Set([...graph.values()].flat());
    const dead = sources.filter((file) => !imported.has(file) && !ENTRY_POINTS.includes(relative('src', file)));
    assert.deepEqual(dead, []);
  });
});

describe('the source reads alone', () => {
  test('no file of src passes 400 lines', () => {
    const long = sources.filter((file) => readFileSync(join(root, file), 'utf8').split('\n').length > 401);
    assert.deepEqual(long, []);
  });

  test('no any, no TODO, no skipped test without a reason, nothing that only this workplace has', () => {
    const wrong: string[] = [];
    for (const file of [...sources, ...files('test'), ...files('bench')]) {
      if (file === 'test/repo/tidy.test.ts') continue;
      const text = readFileSync(join(root, file), 'utf8');
      if (/(: any\b|as any\b|<any>)/.test(text)) wrong.push(`${file}: any`);
      if (/\b(TODO|FIXME|XXX|HACK)\b/.test(text)) wrong.push(`${file}: a mark without an issue`);
      if (/\.only\(/.test(text)) wrong.push(`${file}: a focused test`);
      // Hooks run in the order in which they were named: what writes to the folder would still run.
      if (/after\(\(\) => rm(Sync)?\(.*recursive/.test(text))
        wrong.push(`${file}: a folder removed before its users end`);
      if (text.includes(OUTSIDE)) wrong.push(`${file}: refers outside of the project`);
    }
    assert.deepEqual(wrong, []);
  });

  test('no import statement loads what a start does not need: the whole of node:http or of undici', () => {
    const whole = sources.filter((file) =>
      /^import (?!type )[^;]* from '(?:node:http|undici)'/m.test(readFileSync(join(root, file), 'utf8')),
    );
    assert.deepEqual(whole, [], 'lib/node-http.ts and transport/client/undici.ts have what it costs');
  });

  test('only config/ and the commands read the environment', () => {
    const wrong = sources
      .filter((file) => !file.startsWith('src/config/') && !COMPOSERS.includes(folderOf(file)))
      .filter((file) => readFileSync(join(root, file), 'utf8').includes('process.env'));
    assert.deepEqual(wrong, []);
  });
});

describe('the tests', () => {
  test('every file of tests is run by `npm test` or by `npm run test:heavy`, once', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    const quoted = (text: string): string[] =>
      [...text.matchAll(/["'](test\/[^"']*\.ts)["']/g)].map((match) => match[1] ?? '');
    const named = [...quoted(scripts.test ?? ''), ...quoted(scripts['test:heavy'] ?? '')];
    const sets = globSync('test/sets/*.ts', { cwd: root }).flatMap((file) =>
      quoted(readFileSync(join(root, file), 'utf8')),
    );
    const run = [...named, ...sets].flatMap((pattern) => globSync(pattern, { cwd: root }));
    assert.deepEqual(
      run.filter((file) => file.endsWith('.test.ts')).toSorted(),
      files('test')
        .filter((file) => file.endsWith('.test.ts'))
        .toSorted(),
    );
  });
});

/** `import type` is erased, so it cannot make a cycle at run time. */
function runtimeImports(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  const found: string[] = [];
  for (const match of text.matchAll(/^(?:import|export)\s+(?!type\b)([^;]*?)from\s+'(\.[^']+)'/gms)) {
    const names = match[1] ?? '';
    const braces = /\{([^}]*)\}/.exec(names)?.[1];
    const onlyTypes = braces?.split(',').every((name) => name.trim() === '' || name.trim().startsWith('type '));
    if (!onlyTypes) found.push(relative(root, resolve(root, dirname(file), match[2] ?? '')));
  }
  return found;
}
