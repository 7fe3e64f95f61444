/** The operator's listener with TLS, and what a browser gets where nobody would protect what it sends. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { appFixture } from '../../support/admin-app.ts';
import { certificateOfLocalhost } from '../../support/certificate.ts';
import { startedGateway } from '../../support/started-gateway.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

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
    const { status, cookie, answer } = await new Promise<{ status: number; cookie: string; answer: string }>(
      (done, failed) => {
        const headers = { 'content-type': 'application/json', host: `localhost:${gateway.adminPort}` };
        const target = { host: '127.0.0.1', port: gateway.adminPort, servername: 'localhost', ca: cert, agent: false };
        const call = request({ ...target, method: 'POST', path: '/admin/v1/session', headers }, (response) => {
          const [set = ''] = response.headers['set-cookie'] ?? [];
          text(response).then((all) => done({ status: response.statusCode ?? 0, cookie: set, answer: all }), failed);
        });
        call.on('error', failed);
        call.end(body);
      },
    );
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
        headers: { host: '127.0.0.1:8081', ...call.headers },
        ...('body' in call && { payload: call.body }),
      });
      assert.equal(answer.statusCode, 403, `${method} ${path}`);
      assert.match(answer.body, /GATEWAY_ADMIN_TLS_CERT/);
    }
    assert.equal((await open.send('GET', '/keys', { headers: { authorization: `Bearer ${token}` } })).status, 200);
    assert.equal((await open.send('GET', '/healthz')).status, 200);
  });

  test('of a gateway beyond loopback has a console only behind a proxy that the operator declares', async () => {
    const status = async (env: Record<string, string>): Promise<number> => {
      await using gateway = await startedGateway({ env: { GATEWAY_ADMIN_HOST: '0.0.0.0', ...env } });
      const answer = await fetch(`http://127.0.0.1:${gateway.adminPort}/`, { headers: { accept: 'text/html' } });
      await answer.arrayBuffer();
      return answer.status;
    };
    assert.equal(await status({}), 403);
    assert.notEqual(await status({ GATEWAY_ADMIN_PROXY: 'on' }), 403);
  });
});
