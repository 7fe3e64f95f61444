/** The package that `npm pack` makes is complete: installed into an empty folder, it starts and serves. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { temporaryFolder } from '../support/temporary-folder.ts';

const root = resolve(import.meta.dirname, '../..');
const folder = temporaryFolder('gateway-package');
/** npm runs with the same Node as this test. */
const env = { ...process.env, PATH: [dirname(process.execPath), process.env.PATH].join(delimiter) };
const run = promisify(execFile);

/** In a copy: packing changes the manifest for a moment, which others read. */
async function pack(): Promise<string> {
  const copy = join(folder, 'repository');
  mkdirSync(copy);
  const parts = ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json', 'README.md', 'LICENSE'];
  for (const name of [...parts, 'CHANGELOG.md', 'SECURITY.md', 'src', 'bin', 'docs', 'tools']) {
    cpSync(join(root, name), join(copy, name), { recursive: true });
  }
  mkdirSync(join(copy, 'site'));
  for (const name of ['package.json', 'package-lock.json']) cpSync(join(root, 'site', name), join(copy, 'site', name));
  if (existsSync(join(root, 'site/node_modules'))) {
    symlinkSync(join(root, 'site/node_modules'), join(copy, 'site/node_modules'));
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  const before = readFileSync(join(copy, 'package.json'), 'utf8');
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: copy, env });
  assert.equal(readFileSync(join(copy, 'package.json'), 'utf8'), before, 'the manifest is as it was');
  return join(folder, stdout.trim().split('\n').at(-1) ?? '');
}

/** From npm's cache where it can. */
async function install(context: TestContext, tarball: string, into: string): Promise<boolean> {
  mkdirSync(into);
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
  try {
    await run('npm', ['install', ...flags, tarball], { cwd: into, env, timeout: 600_000 });
    return true;
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string };
    if (!/ENOTCACHED|ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ETIMEDOUT|network/.test(stderr)) throw error;
    context.skip('the registry cannot be reached, and the packages are not in the cache of npm');
    return false;
  }
}

describe('the package', { timeout: 1_200_000 }, () => {
  test('installed from its tarball into an empty folder, npx model-gateway starts and serves, without a runtime of its own', async (context) => {
    const tarball = await pack();
    const empty = join(folder, 'empty');
    if (!(await install(context, tarball, empty))) return;
    const packages = readdirSync(join(empty, 'node_modules'));
    assert.deepEqual(
      packages.filter((name) => /^node-/.test(name)),
      [],
    );
    const version = await run('npx', ['--no-install', 'gateway', '--version'], { cwd: empty, env });
    assert.match(version.stdout, /^\d+\.\d+\.\d+ \(commit \w+; schema: SQLite \d+, PostgreSQL \d+\)\n$/);

    const program = join(empty, 'node_modules/.bin/model-gateway');
    const child = spawn(program, [], {
      cwd: empty,
      env: { ...env, GATEWAY_PORT: '0', GATEWAY_ADMIN_PORT: '0', GATEWAY_DISCOVER_LOCAL: 'off' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      let output = '';
      for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
        output += chunk.toString();
        if (/Claude Code/.test(output)) break;
      }
      const origin = /listens on (http:\S+)/.exec(output)?.[1] ?? '';
      const key = /mg_c_\w+/.exec(output)?.[0] ?? '';
      const response = await fetch(`${origin}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'sandbox/alpha', messages: [{ role: 'user', content: 'Hello!' }] }),
      });
      assert.equal(response.status, 200, await response.text());
    } finally {
      const gone = once(child, 'exit');
      child.kill('SIGTERM');
      await gone;
    }
  });
});
