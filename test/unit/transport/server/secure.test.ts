/** HTTP/1.1 and HTTP/2 over TLS, by clients that other people wrote. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpsRequest } from 'node:https';
import { describe, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { Agent, fetch } from 'undici';
import { certificateOfLocalhost } from '../../../support/certificate.ts';
import { echo, RawPeer } from './fixture.ts';
import { received, secureServer, session, tls } from './secure-fixture.ts';

describe('a listener with TLS', () => {
  for (const [what, sent, answer] of [
    ['that never sends anything is closed without a byte', '', ''],
    ['that has begun a request is refused', 'GET / HT', 'too_slow'],
  ] as const) {
    test(`[R87] a client of HTTP/1.1 ${what}`, async (t) => {
      const end = await secureServer(t, echo, { headersTimeoutMs: 2_000, requestTimeoutMs: 2_000 });
      const options = { port: end.port, host: '127.0.0.1', servername: 'localhost', ca: tls.cert };
      const client = connectTls({ ...options, ALPNProtocols: ['http/1.1'] });
      let text = '';
      client.on('data', (chunk: Buffer) => {
        text += chunk.toString('latin1');
      });
      await once(client, 'secureConnect');
      client.write(sent);
      await once(client, 'end');
      client.destroy();
      assert.match(text, answer === '' ? /^$/ : new RegExp(`^HTTP/1\\.1 400 [\\s\\S]*${answer}$`));
      assert.deepEqual(end.refused, answer === '' ? [] : [answer]);
    });
  }

  test('serves HTTP/1.1 to clients that know nothing else, with keep-alive', async (t) => {
    const end = await secureServer(t, echo);
    const text = await new Promise<string>((resolve, reject) => {
      const options = { port: end.port, host: '127.0.0.1', servername: 'localhost', ca: tls.cert, method: 'POST' };
      const request = httpsRequest({ ...options, path: '/plain', agent: false }, async (response) => {
        assert.equal(response.httpVersion, '1.1');
        resolve(Buffer.concat((await response.toArray()) as Buffer[]).toString());
      });
      request.on('error', reject);
      request.end('body');
    });
    assert.equal(text, 'POST /plain body.');
  });

  test("serves undici's fetch over HTTP/2 and over HTTP/1.1", async (t) => {
    const versions: string[] = [];
    const end = await secureServer(t, (request, response) => {
      versions.push(request.constructor.name);
      echo(request, response);
    });
    for (const allowH2 of [true, false]) {
      const dispatcher = new Agent({ allowH2, connect: { ca: tls.cert } });
      t.after(() => dispatcher.destroy());
      const response = await fetch(`https://localhost:${end.port}/fetched`, { dispatcher, method: 'POST', body: 'x' });
      assert.equal(await response.text(), 'POST /fetched x.');
    }
    assert.deepEqual(versions, ['Http2Request', 'Http1Request']);
  });

  test('uses a new certificate for new connections', async (t) => {
    const end = await secureServer(t, echo);
    const before = await session(t, end.port);
    const renewed = certificateOfLocalhost();
    end.server.setTlsIdentity(renewed);
    await assert.rejects(
      fetch(`https://localhost:${end.port}/`, { dispatcher: new Agent({ connect: { ca: tls.cert } }) }),
    );
    const dispatcher = new Agent({ connect: { ca: renewed.cert } });
    t.after(() => dispatcher.destroy());
    assert.equal((await fetch(`https://localhost:${end.port}/`, { dispatcher })).status, 200);
    assert.equal((await received(before.request({ ':path': '/' }))).status, 200, 'an open connection goes on');
  });

  test('survives clients that do not speak TLS, and closes those that say nothing', async (t) => {
    const end = await secureServer(t, echo, { headersTimeoutMs: 2_000 });
    const plain = await RawPeer.connect(end.port);
    await plain.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n').closed;
    const silent = await RawPeer.connect(end.port);
    await silent.closed;
    const client = await session(t, end.port);
    assert.equal((await received(client.request({ ':path': '/' }))).status, 200);
  });
});
