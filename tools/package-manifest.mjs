// The package without the Node runtimes, which only a machine whose own Node is too old needs: npm would install 200 MB
// everywhere. The launcher fetches the one that it needs, by the lock file that is made here. `npm pack` runs this before
// and after: the package.json of the repository is the same again then.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const manifest = join(root, 'package.json');
const kept = join(root, 'package.json.kept');
const read = (file) => JSON.parse(readFileSync(file, 'utf8'));
const write = (file, value) => writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);

// What an interrupted run has left is put back first.
if (existsSync(kept)) renameSync(kept, manifest);
if (process.argv[2] === 'prepare') {
  const { devDependencies: _, optionalDependencies, scripts, ...published } = read(manifest);
  writeRuntimeLock(optionalDependencies);
  writeFileSync(kept, readFileSync(manifest));
  write(manifest, { ...published, scripts: { start: scripts.start } });
}

function writeRuntimeLock(optionalDependencies) {
  const lock = read(join(root, 'package-lock.json'));
  const folder = join(root, 'dist', 'runtime');
  mkdirSync(folder, { recursive: true });
  const own = { name: 'gateway-runtime', version: '0.0.0', private: true, optionalDependencies };
  const places = Object.keys(optionalDependencies).map((name) => `node_modules/${name}`);
  write(join(folder, 'package.json'), own);
  // Under another name: npm leaves lock files out of packages.
  write(join(folder, 'lock.json'), {
    name: own.name,
    version: own.version,
    lockfileVersion: lock.lockfileVersion,
    requires: true,
    packages: {
      '': { name: own.name, version: own.version, optionalDependencies },
      ...Object.fromEntries(places.map((place) => [place, lock.packages[place]])),
    },
  });
}
