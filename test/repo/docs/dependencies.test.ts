/** docs/understand/dependencies.md gives an account of package.json and its lock file. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';

interface Locked {
  readonly license?: string;
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
}

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

const root = resolve(import.meta.dirname, '../../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const page = read('docs/understand/dependencies.md');
const manifest = JSON.parse(read('package.json')) as Manifest;
const { packages } = JSON.parse(read('package-lock.json')) as { packages: Readonly<Record<string, Locked>> };
const all = Object.entries({
  ...manifest.dependencies,
  ...manifest.optionalDependencies,
  ...manifest.devDependencies,
});
const documented = [...page.matchAll(/^\| `([^`]+)` \| (\S+) \| ([^|]+?) \|/gm)].map((row) =>
  row.slice(1, 4).join(' '),
);

describe('docs/understand/dependencies.md', () => {
  test('has every dependency with its version and licence, and no other', () => {
    const expected = all.map(([name, version]) => {
      const license = packages[`node_modules/${name}`]?.license ?? 'no licence';
      return `${name} ${version} ${license}`;
    });
    assert.deepEqual(documented.toSorted(), expected.toSorted());
  });

  test('says of every runtime dependency why it is there', () => {
    const unexplained = Object.keys(manifest.dependencies).filter((name) => !page.includes(`**\`${name}\`**: `));
    assert.deepEqual(unexplained, []);
  });
});

describe('the promises of its policy', () => {
  test('every version is exact', () => {
    assert.deepEqual(
      all.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)),
      [],
    );
  });

  test('nothing that the running gateway needs has an install script', () => {
    const scripted = Object.entries(packages)
      .filter(([, { dev, hasInstallScript }]) => dev !== true && hasInstallScript === true)
      .map(([name]) => name);
    assert.deepEqual(scripted, []);
  });

  test('runtime licences are permissive, transitive ones included', () => {
    const allowed = ['MIT', 'MIT-0', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', '0BSD', 'BlueOak-1.0.0'];
    const others = Object.entries(packages)
      .filter(([name, { dev, license }]) => name !== '' && dev !== true && !allowed.includes(license ?? ''))
      .map(([name, { license }]) => `${name}: ${license}`);
    assert.deepEqual(others, []);
  });
});
