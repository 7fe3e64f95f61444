/** A data folder that is deleted, replaced or damaged, and a disk that fails: one clear line, and never exit code 0. */
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdtempSync, openSync, renameSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { type GatewayProcess, gatewayProcess } from '../../support/gateway-process.ts';
import { call } from '../../support/started-gateway.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { gatedUpstream } from '../../support/upstreams/gated.ts';

const FAILING_DISK = new URL('../../support/failing-disk.ts', import.meta.url).href;
const root = temporaryFolder('gateway-disk');
let folders = 0;

function newFolder(): string {
  const folder = mkdtempSync(join(root, `${folders++}-`));
  writeFileSync(join(folder, 'gateway.yaml'), 'sandbox: true\nlimits: { drain: 1, settle_wait: 1 }\n');
  return folder;
}

/** The lines of its log with this text. */
function logged(gateway: GatewayProcess, text: string): readonly string[] {
  return gateway
    .output()
    .split('\n')
    .filter((line) => line.includes(text));
}

describe('files that change under a running gateway', () => {
  const changes: readonly (readonly [what: string, change: (folder: string) => void, line: RegExp])[] = [
    ['the data folder is deleted', (folder) => rmSync(folder, { recursive: true }), /gateway\.db was deleted/],
    [
      'the database is replaced by a copy',
      (folder) => {
        copyFileSync(join(folder, 'gateway.db'), join(folder, 'copy'));
        renameSync(join(folder, 'copy'), join(folder, 'gateway.db'));
      },
      /gateway\.db was replaced by another file/,
    ],
    ['the log is deleted', (folder) => rmSync(join(folder, 'gateway.db-wal')), /gateway\.db-wal was deleted/],
  ];
  for (const [what, change, line] of changes) {
    test(`${what}: one line that says so, and exit code 1`, async (t) => {
      const folder = newFolder();
      const gateway = await gatewayProcess(folder, { GATEWAY_LEASE_SECONDS: '1' });
      t.after(() => gateway.kill('SIGKILL'));
      change(folder);
      assert.equal(await gateway.ended, 1);
      assert.equal(logged(gateway, 'while the gateway was using it').length, 1, gateway.output());
      assert.match(gateway.output(), line);
    });
  }
});

describe('a damaged database', () => {
  test('is named at the start, with what to do', async () => {
    const folder = newFolder();
    const file = join(folder, 'gateway.db');
    writeFileSync(file, 'this was a database once '.repeat(500));
    writeFileSync(join(folder, 'installation.secret'), 'an installation secret for tests only', { mode: 0o600 });
    await assert.rejects(gatewayProcess(folder), (error: Error) => {
      assert.match(error.message, /gateway: The database \S+gateway\.db is damaged \(.+\): .*restore .* backup/);
      assert.doesNotMatch(error.message, /\n\s+at /);
      return true;
    });
  });

  test('is named while it serves, with what to do, and not written to any more', async (t) => {
    const folder = newFolder();
    const first = await gatewayProcess(folder);
    const key = await first.admin.createKey({ mode: 'credit', credit: '1' });
    await first.kill('SIGTERM');
    damageTable(join(folder, 'gateway.db'), 'entries');
    const gateway = await gatewayProcess(folder);
    t.after(() => gateway.kill('SIGKILL'));
    const body = { model: 'sandbox/alpha', messages: [{ role: 'user', content: 'Hello' }] };
    const response = await call(`${gateway.origin}/v1/chat/completions`, { key: key.key, body });
    assert.equal(response.status, 503);
    assert.equal(await gateway.ended, 1);
    assert.equal(logged(gateway, 'drains and ends').length, 1, gateway.output());
    assert.match(gateway.output(), /The database \S+gateway\.db is damaged \(.+\): .*restore .* backup/);
  });
});

test('a disk that fails while the gateway drains: it does not end with exit code 0', async (t) => {
  await using upstream = await gatedUpstream({ settle_wait: 1 });
  const folder = newFolder();
  writeFileSync(join(folder, 'gateway.yaml'), upstream.config);
  const marker = join(folder, 'failing');
  const env = { NODE_OPTIONS: `--import ${FAILING_DISK}`, FAILING_DISK: marker };
  const gateway = await gatewayProcess(folder, env);
  t.after(() => gateway.kill('SIGKILL'));
  const key = await gateway.admin.createKey({ mode: 'credit', credit: '1' });
  const body = { model: 'gated/one', stream: true, messages: [{ role: 'user', content: 'Hello' }] };
  const answer = call(`${gateway.origin}/v1/chat/completions`, { key: key.key, body });
  const stream = await upstream.next();
  stream.begin();
  const response = await answer;
  assert.equal(response.status, 200);
  // The stream ends by the drain or by itself, whichever is first: the disk takes nothing by then.
  writeFileSync(marker, '');
  gateway.child.kill('SIGTERM');
  stream.finish();
  const text = await response.text().catch(() => '');
  assert.doesNotMatch(text, /\[DONE\]/, 'what could not be charged was not seen complete');
  assert.equal(await gateway.ended, 1);
  assert.match(gateway.output(), /the disk did not take what was committed/);
});

/** Overwrites the first page of a table. */
function damageTable(file: string, table: string): void {
  const database = new DatabaseSync(file);
  const { page_size: size } = database.prepare('PRAGMA page_size').get() ?? {};
  const { rootpage: page } = database.prepare('SELECT rootpage FROM sqlite_master WHERE name = ?').get(table) ?? {};
  database.close();
  assert.ok(typeof size === 'number' && typeof page === 'number' && !existsSync(`${file}-wal`));
  writeSync(openSync(file, 'r+'), Buffer.alloc(size, 0xff), 0, size, (page - 1) * size);
}
