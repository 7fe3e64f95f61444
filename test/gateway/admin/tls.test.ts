/** The operator's listener with TLS, and what a browser gets where nobody would protect what it sends. */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { consoleOrigin } from '../../../src/admin/console-address.ts';
import { readSettings } from '../../../src/config/settings.ts';
import { appFixture } from '../../support/admin-app.ts';
import { certificateOfLocalhost } from '../../support/certificate.ts';
import { startedGateway } from '../../support/started-gateway.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** An address of this machine that is not loopback. */
const outer =
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '';
const noNetwork = outer === '' ? 'this machine has no address but loopback' : false;

interface Asked {
  readonly status: number;
  readonly cookie: string;
  readonly answer: string;
}

/** Over TLS, trusting this certificate alone. A body is posted. */
function asked(port: number, ca: string, path: string, body?: string): Promise<Asked> {
  return new Promise((done, failed) => {
    const headers = { 'content-type': 'application/json', host: `localhost:${port}` };
    const target = { host: '127.0.0.1', port, servername: 'localhost', ca, agent: false };
    const method = body === undefined ? 'GET' : 'POST';
    const call = request({ ...target, method, path, headers }, (response) => {
      const [cookie = ''] = response.headers['set-cookie'] ?? [];
      text(response).then((answer) => done({ status: response.statusCode ?? 0, cookie, answer }), failed);
    });
    call.on('error', failed);
    call.end(body);
  });
}

const PAGE = { headers: { authorization: '', accept: 'text/html' } };

describe("the operator's listener", () => {
  test('speaks HTTPS with the certificate of the settings, and signs in with a cookie for TLS only', async () => {
    const folder = temporaryFolder();
    const { cert, key } = certificateOfLocalhost();
    const files = { GATEWAY_ADMIN_TLS_CERT: join(folder, 'cert.pem'), GATEWAY_ADMIN_TLS_KEY: join(folder, 'key.pem') };
    writeFileSync(files.GATEWAY_ADMIN_TLS_CERT, cert);
    writeFileSync(files.GATEWAY_ADMIN_TLS_KEY, key);
    await using gateway = await startedGateway({ env: files });
    const { url } = await gateway.admin.operators.link('owner');
    assert.match(url, /^https:\/\/127\.0\.0\.1:\d+\/#token=/);
    const body = JSON.stringify({ token: url.split('#token=')[1] });
    const { status, cookie, answer } = await asked(gateway.adminPort, cert, '/admin/v1/session', body);
    assert.equal(status, 200, answer);
    assert.match(cookie, /; Secure/);
    await assert.rejects(fetch(`http://127.0.0.1:${gateway.adminPort}/healthz`));
  });

  test('serves no console and no sign-in where it can be reached in the clear; the API stays open', async (t) => {
    const open = await appFixture(t, { browsers: false });
    const { token } = await open.service.operators.create({ name: 'ann', role: 'viewer' });
    for (const [method, path] of [
      ['GET', '/'],
      ['GET', '/keys/key_1'],
      ['GET', '/assets/x.js'],
      ['POST', '/admin/v1/session'],
    ] as const) {
      const url = path === '/keys/key_1' ? 'http://127.0.0.1:8081/keys/key_1' : path;
      const call = method === 'POST' ? { headers: { authorization: '' }, body: { token } } : PAGE;
      const answer = await open.app.inject({
        method,
        url,
        remoteAddress: '10.0.0.9',
        headers: { host: '127.0.0.1:8081', ...call.headers },
        ...('body' in call && { payload: call.body }),
      });
      assert.equal(answer.statusCode, 403, `${method} ${path}`);
      assert.match(answer.body, /GATEWAY_ADMIN_TLS_CERT/);
    }
    for (const remoteAddress of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) {
      const headers = { host: '127.0.0.1:8081' };
      const payload = { token };
      const tunnel = await open.app.inject({
        method: 'POST',
        url: '/admin/v1/session',
        remoteAddress,
        headers,
        payload,
      });
      assert.equal(tunnel.statusCode, 200, remoteAddress);
    }
    assert.equal((await open.send('GET', '/keys', { headers: { authorization: `Bearer ${token}` } })).status, 200);
    assert.equal((await open.send('GET', '/healthz')).status, 200);
  });

  test('beyond loopback has a console only behind a proxy that the operator declares', {
    skip: noNetwork,
  }, async () => {
    const status = async (host: string, env: Record<string, string>): Promise<number> => {
      await using gateway = await startedGateway({ env: { GATEWAY_ADMIN_HOST: '0.0.0.0', ...env } });
      const answer = await fetch(`http://${host}:${gateway.adminPort}/`, { headers: { accept: 'text/html' } });
      await answer.arrayBuffer();
      return answer.status;
    };
    assert.equal(await status(outer, {}), 403);
    assert.notEqual(await status('127.0.0.1', {}), 403);
    assert.notEqual(await status(outer, { GATEWAY_ADMIN_PROXY: 'on' }), 403);
  });

  test('makes a certificate at its first start and keeps it; a link names its fingerprint', async () => {
    const env = { GATEWAY_ADMIN_HOST: '0.0.0.0', GATEWAY_ADMIN_TLS: 'self-signed' };
    const dataDir = temporaryFolder();
    const fingerprints: (string | null)[] = [];
    for (const name of ['console.example.com', 'console.example.com', 'other.example.com']) {
      await using gateway = await startedGateway({ dataDir, env: { ...env, GATEWAY_ADMIN_ALLOWED_HOSTS: name } });
      const { url, certificate_sha256 } = await gateway.admin.operators.link('owner');
      assert.match(url, /^https:\/\/127\.0\.0\.1:\d+\/#token=/);
      const file = join(dataDir, 'admin-tls.pem');
      assert.equal(statSync(file).mode & 0o777, 0o600);
      const own = new X509Certificate(readFileSync(file));
      assert.equal(own.fingerprint256, certificate_sha256);
      for (const host of ['localhost', name]) assert.equal(own.checkHost(host), host);
      for (const address of ['127.0.0.1', '::1']) assert.equal(own.checkIP(address), address);
      // Who trusts this one certificate needs no exception.
      const { status } = await asked(gateway.adminPort, readFileSync(file, 'utf8'), '/healthz');
      assert.equal(status, 200);
      fingerprints.push(certificate_sha256);
    }
    const [first, second, third] = fingerprints;
    assert.equal(first, second);
    assert.notEqual(second, third, 'one that is not for a name that browsers use is replaced');
  });

  test('is opened at the address that browsers can use', () => {
    const settings = (env: Record<string, string>): string | null => consoleOrigin(readSettings(env));
    assert.equal(settings({}), 'http://127.0.0.1:8081');
    assert.equal(settings({ GATEWAY_ADMIN_HOST: '0.0.0.0' }), 'http://127.0.0.1:8081');
    assert.equal(settings({ GATEWAY_ADMIN_HOST: '10.0.0.9' }), null);
    const clear = { GATEWAY_ADMIN_HOST: '0.0.0.0', GATEWAY_ADMIN_URL: 'http://console.internal:8081' };
    assert.equal(settings(clear), null);
    assert.equal(settings({ ...clear, GATEWAY_ADMIN_PROXY: 'on' }), 'http://console.internal:8081');
    assert.equal(settings({ ...clear, GATEWAY_ADMIN_URL: 'http://127.0.0.1:9081' }), 'http://127.0.0.1:9081');
    assert.equal(
      settings({ GATEWAY_ADMIN_HOST: '10.0.0.9', GATEWAY_ADMIN_TLS: 'self-signed' }),
      'https://10.0.0.9:8081',
    );
    assert.equal(
      settings({ GATEWAY_ADMIN_PROXY: 'on', GATEWAY_ADMIN_URL: 'https://console.example.com/' }),
      'https://console.example.com',
    );
  });

  test('refuses to make a link that cannot work', async (t) => {
    const { service } = await appFixture(t, { console: () => ({ origin: null, fingerprint: null }) });
    await assert.rejects(
      service.operators.link('owner'),
      /the console cannot be opened: .*GATEWAY_ADMIN_TLS=self-signed/,
    );
  });
});
