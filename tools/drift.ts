/**
 * `npm run drift`: which names of the providers' SDKs nobody has decided about in docs/connect/sdk-names.md. Names of the
 * installed versions make it fail; those of the newest versions, which are fetched from the npm registry, are a report.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compare, readDecisions } from './drift/decisions.ts';
import { PACKAGES, surfaceOf } from './drift/surface.ts';

const decided = readDecisions();

for (const name of PACKAGES) {
  const folder = join(import.meta.dirname, '../node_modules', name);
  if (!existsSync(folder)) {
    console.log(`${name}: not installed`);
    continue;
  }
  const { undecided, gone } = tell(name, folder, 'installed');
  if (undecided.length + gone.length > 0) process.exitCode = 1;
}

for (const name of PACKAGES) {
  const folder = mkdtempSync(join(tmpdir(), 'drift-'));
  try {
    execFileSync('npm', ['pack', `${name}@latest`, '--silent', '--pack-destination', folder], { timeout: 120_000 });
    const archive = readdirSync(folder).find((file) => file.endsWith('.tgz')) ?? '';
    execFileSync('tar', ['-xzf', archive], { cwd: folder });
    tell(name, join(folder, 'package'), 'newest');
  } catch (error) {
    console.log(
      `${name}: the newest version could not be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function tell(name: string, folder: string, which: string) {
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
  const declared = surfaceOf(name, folder);
  const drift = compare(declared, decided);
  const { undecided, gone } = drift;
  console.log(
    `${name} ${version} (${which}): ${declared.length} names, ${undecided.length} without a decision, ${gone.length} gone`,
  );
  for (const key of undecided) console.log(`  + ${key}`);
  for (const key of gone) console.log(`  - ${key}`);
  return drift;
}
