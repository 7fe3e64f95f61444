/** What deploy/Dockerfile builds starts and serves as a user without rights, and writes to nothing but its data. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { get } from 'node:https';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { buildImage } from './dockerfile.ts';
import { root } from './tools.ts';

const folder = temporaryFolder('gateway-image');
/** What the image has beside Node and its system. */
const MB_MAX = 60;
/** What runs when it is loaded. */
const ENTRY_POINTS = [
  'sandbox/main.js',
  'ledger/sqlite/background-thread.js',
  'counting/worker.js',
  'process/worker.js',
  'observe/request-log/sqlite/thread.js',
];
/** The page of the console, whose certificate has the fingerprint that was printed. */
async function consoleIn(output: string): Promise<string> {
  const [, origin = '', fingerprint = ''] =
    /Console: (https:\/\/[^/#\s]+)[\s\S]*?\n {2}([0-9A-F:]{95})/.exec(output) ?? [];
  return new Promise((done, failed) => {
    const call = get(origin, { rejectUnauthorized: false, headers: { accept: 'text/html' } }, (response) => {
      assert.equal((response.socket as TLSSocket).getPeerCertificate().fingerprint256, fingerprint);
      text(response).then(done, failed);
    });
    call.on('error', failed);
  });
}

/** Its packages are pruned: each module of the program is loaded, and each package that one loads only when it needs it. */
function loadEverything(app: string): void {
  const modules = readdirSync(join(app, 'dist'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js') && !name.startsWith('reference/') && !ENTRY_POINTS.includes(name))
    .map((name) => join(app, 'dist', name));
  const packages = [...modules, ...ENTRY_POINTS.map((name) => join(app, 'dist', name))].flatMap((file) =>
    Array.from(
      readFileSync(file, 'utf8').matchAll(/(?:\bfrom|import\(|require\(|\(import\.meta\.url\)\()\s*'([@a-z][^':]*)'/g),
      (match) => match[1] ?? '',
    ),
  );
  const names = [...modules, ...new Set(packages)];
  assert.ok(
    packages.includes('gpt-tokenizer/encoding/o200k_base') && packages.includes('fastify'),
    'packages are found',
  );
  const load = `for (const name of ${JSON.stringify(names)}) await import(name); process.exit(0);`;
  execFileSync(process.execPath, ['--input-type=module', '--eval', load], { cwd: app, stdio: 'pipe' });
}

const isRoot = process.getuid?.() === 0;

describe('the image', { timeout: 600_000, skip: isRoot ? false : 'only root can give files to another user' }, () => {
  test('is built by its own steps, starts as an unprivileged user, serves, and writes to /data alone', async (context) => {
    // Other users come as far as its own file system.
    chmodSync(folder, 0o755);
    const image = await buildImage(root, join(root, 'deploy/Dockerfile'), folder);
    for (const { step, ms } of image.steps) context.diagnostic(`${(ms / 1_000).toFixed(1)} s: ${step.slice(0, 100)}`);
    const [size] = execFileSync('du', ['-sm', join(image.folder, 'app')])
      .toString()
      .split('\t');
    context.diagnostic(`${size} MB in /app`);
    assert.ok(Number(size) <= MB_MAX, `${size} MB in /app`);
    loadEverything(join(image.folder, 'app'));
    assert.ok(existsSync(join(image.folder, 'app/console/dist/index.html')), 'the console is inside');
    const [uid, gid] = image.user.split(':').map(Number);
    assert.ok(uid !== undefined && uid > 0);

    const begun = join(folder, 'begun');
    execFileSync('touch', [begun]);
    const env = {
      ...image.env,
      GATEWAY_DATA: join(image.folder, image.env.GATEWAY_DATA ?? ''),
      GATEWAY_HOST: '127.0.0.1',
      GATEWAY_ADMIN_HOST: '127.0.0.1',
      GATEWAY_PORT: '0',
      GATEWAY_ADMIN_PORT: '0',
      GATEWAY_DISCOVER_LOCAL: 'off',
      HOME: '/nonexistent',
      PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
    };
    const [program = '', ...args] = image.command;
    const cwd = join(image.folder, image.workdir);
    const child = spawn(program, args, { cwd, env, uid, gid, stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      let output = '';
      for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
        output += chunk.toString();
        if (/SDK settings/.test(output)) break;
      }
      const origin = /listens on (http:\S+)/.exec(output)?.[1] ?? '';
      const key = /mg_c_\w+/.exec(output)?.[0] ?? '';
      const response = await fetch(`${origin}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'sandbox/alpha', messages: [{ role: 'user', content: 'Hello!' }] }),
      });
      assert.equal(response.status, 200, await response.text());
      assert.match(await consoleIn(output), /<html/);
      const [check = '', ...checkArgs] = image.healthcheck;
      execFileSync(check, checkArgs, { cwd, env, uid, gid });
    } finally {
      const gone = once(child, 'exit');
      child.kill('SIGINT');
      assert.deepEqual(await gone, [0, null]);
    }
    assert.ok(readdirSync(env.GATEWAY_DATA).includes('gateway.db'));
    const written = execFileSync('find', [image.folder, '-newer', begun, '-not', '-path', `${env.GATEWAY_DATA}*`]);
    assert.equal(written.toString(), '', 'nothing was written outside of /data');
  });
});
