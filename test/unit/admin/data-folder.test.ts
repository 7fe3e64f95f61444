import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { NotRunningError } from '../../../src/admin/client.ts';
import { storeFile } from '../../../src/admin/data-folder.ts';
import { AdminServer, listenOnPort } from '../../../src/admin/http/server.ts';
import { adminSecret, installationSecret } from '../../../src/admin/secrets.ts';
import { listenOnSocket, requirePrivateFolder, socketPath } from '../../../src/admin/socket.ts';
import { adminAt } from '../../support/admin-client.ts';
import { adminFixture } from '../../support/admin-fixture.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** More than any machine needs for an answer of its own. */
const PATIENCE_MS = 120_000;

describe('secrets', () => {
  test('are made once, whole, for the owner only, and are the same ever after', async () => {
    const folder = join(temporaryFolder(), 'data');
    const made = await Promise.all(Array.from({ length: 8 }, () => installationSecret(folder, null)));
    assert.equal(new Set(made).size, 1, 'processes that create it at once agree');
    assert.match(made[0] ?? '', /^[0-9a-f]{64}$/);
    assert.equal(await installationSecret(folder, null), made[0]);
    assert.notEqual(await adminSecret(folder), made[0]);
    assert.deepEqual(readdirSync(folder).sort(), ['admin.secret', 'installation.secret']);
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    for (const name of readdirSync(folder)) assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600);
  });

  test('a given installation secret wins, and must be long enough', async () => {
    const folder = temporaryFolder();
    const given = 'g'.repeat(32);
    assert.equal(await installationSecret(folder, given), given);
    assert.equal(existsSync(join(folder, 'installation.secret')), false);
    await assert.rejects(installationSecret(folder, 'g'.repeat(31)), /at least 32 characters/);
  });

  test('a store whose secret is lost is refused instead of given a new one', async () => {
    const folder = temporaryFolder();
    writeFileSync(storeFile(folder), '');
    await assert.rejects(installationSecret(folder, null), /installation\.secret is missing .*restore it/);
    writeFileSync(join(folder, 'installation.secret'), 'short');
    await assert.rejects(installationSecret(folder, null), /is damaged/);
  });
});

describe('the socket', () => {
  test('is in the data folder, or in a private one where that path is too long', (t) => {
    const folder = temporaryFolder();
    assert.equal(socketPath(folder), join(folder, 'gateway.sock'));
    const link = `${folder}-link`;
    symlinkSync(folder, link);
    t.after(() => rmSync(link));
    assert.equal(socketPath(link), socketPath(folder), 'one folder, one socket');
    const long = join(folder, 'x'.repeat(120));
    assert(Buffer.byteLength(socketPath(long)) <= 100);
    assert.notEqual(socketPath(long), socketPath(`${long}y`));
    assert.match(socketPath(folder, 'win32'), /^\\\\\.\\pipe\\gateway-[0-9a-f]{24}$/);
  });

  test('serves its own user without a secret, and is gone when closed', async (t) => {
    const { adminService } = adminFixture(t);
    const long = join(temporaryFolder(), 'x'.repeat(120));
    mkdirSync(long);
    for (const folder of [temporaryFolder(), long]) {
      const listener = await listenOnSocket(new AdminServer(adminService, { secret: null }).server, folder);
      assert.equal(listener.path, socketPath(folder));
      assert.equal(statSync(listener.path).mode & 0o777, 0o600);
      requirePrivateFolder(listener.path, folder);
      const client = adminAt(listener.path);
      assert.equal((await client.health(PATIENCE_MS)).pid, process.pid);
      await listener.close();
      assert.equal(existsSync(listener.path), false);
      await assert.rejects(client.health(PATIENCE_MS), NotRunningError);
    }
  });

  test('replaces what a dead process left, and closing never removes a successor', async (t) => {
    const { adminService } = adminFixture(t);
    const folder = temporaryFolder();
    writeFileSync(socketPath(folder), 'left behind');
    await assert.rejects(adminAt(socketPath(folder)).health(PATIENCE_MS), NotRunningError);
    const first = await listenOnSocket(new AdminServer(adminService, { secret: null }).server, folder);
    const second = await listenOnSocket(new AdminServer(adminService, { secret: null }).server, folder);
    await first.close();
    assert.equal((await adminAt(second.path).health(PATIENCE_MS)).ok, true);
    await second.close();
  });

  test('a folder in its place, or in that of its draft, is named, and nothing stays open', async (t) => {
    const { adminService } = adminFixture(t);
    for (const suffix of ['', '.new']) {
      const folder = temporaryFolder();
      const inTheWay = `${socketPath(folder)}${suffix}`;
      mkdirSync(inTheWay);
      const admin = new AdminServer(adminService, { secret: null });
      const listening = listenOnSocket(admin.server, folder, () => admin.close());
      await assert.rejects(listening, {
        name: 'AdminError',
        message: `${inTheWay} is a folder, where the gateway needs its socket: remove it, or move it elsewhere`,
      });
      assert.equal(admin.server.listening, false);
      assert.deepEqual(readdirSync(folder), [`gateway.sock${suffix}`]);
    }
  });

  test('a face without a secret serves nobody over TCP', async (t) => {
    const { adminService } = adminFixture(t);
    const { server } = new AdminServer(adminService, { secret: null });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    t.after(() => server.close());
    const address = server.address();
    assert(typeof address === 'object' && address !== null);
    assert.equal((await fetch(`http://127.0.0.1:${address.port}/admin/v1/keys`)).status, 403);
  });

  test('a gateway that listens but is stuck is told apart from none', async (t) => {
    const folder = temporaryFolder();
    const listener = await listenOnSocket(createServer(), folder);
    t.after(() => listener.close());
    await assert.rejects(adminAt(listener.path).health(50), /does not answer/);
  });
});

test('a taken admin port is an error, not a second listener', async (t) => {
  const { adminService } = adminFixture(t);
  const options = { secret: 's'.repeat(32), host: '127.0.0.1' };
  const first = await listenOnPort(adminService, { ...options, port: 0 });
  t.after(() => first.close());
  await assert.rejects(listenOnPort(adminService, { ...options, port: first.port }), { code: 'EADDRINUSE' });
});
