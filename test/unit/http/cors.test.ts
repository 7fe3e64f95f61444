/** Requests of web pages from other origins, over each transport. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { requestHandler } from '../../../src/http/app.ts';
import { withCors } from '../../../src/http/cors.ts';
import type { RequestHandler } from '../../../src/transport/server.ts';
import { REFUSING_GATEWAY } from '../../support/refusing-gateway.ts';
import { serverFixture } from '../transport/server/fixture.ts';

const APP = 'https://app.example.com';

function handler(corsOrigins: readonly string[]): RequestHandler['onRequest'] {
  return requestHandler({
    gateway: REFUSING_GATEWAY,
    headerCount: 100,
    secure: false,
    corsOrigins,
    pages: null,
    sockets: { accept: () => assert.fail() },
    ready: async () => true,
    accepting: () => true,
  }).onRequest;
}

const PREFLIGHT = {
  origin: APP,
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization,content-type,x-stainless-lang',
};

describe('CORS', () => {
  test('a page of an allowed origin may send every header, and read every header', async () => {
    await using end = await serverFixture(handler([APP]));
    const url = `http://127.0.0.1:${end.port}`;
    const preflight = await fetch(`${url}/v1/chat/completions`, { method: 'OPTIONS', headers: PREFLIGHT });
    assert.equal(preflight.status, 200);
    assert.equal(await preflight.text(), '');
    const fields = Object.fromEntries(preflight.headers);
    assert.match(fields['x-request-id'] ?? '', /^req_[0-9a-f]{32}$/);
    assert.equal(fields['access-control-allow-origin'], APP);
    assert.equal(fields['access-control-allow-methods'], 'GET, POST, DELETE');
    assert.equal(fields['access-control-allow-headers'], PREFLIGHT['access-control-request-headers']);
    assert.equal(fields['access-control-max-age'], '86400');
    assert.equal(fields['access-control-allow-credentials'], undefined);
    assert.match(fields.vary ?? '', /^origin, access-control-request-method/);

    const answer = await fetch(`${url}/healthz`, { headers: { origin: APP } });
    await answer.text();
    assert.equal(answer.headers.get('access-control-allow-origin'), APP);
    assert.equal(answer.headers.get('access-control-expose-headers'), 'x-request-id, content-type');
    assert.equal(answer.headers.get('vary'), 'origin');
    const refused = await fetch(`${url}/v1/nothing`, { headers: { origin: APP } });
    assert.equal(refused.status, 404);
    assert.match(await refused.text(), /There is no route/);
    assert.equal(refused.headers.get('access-control-allow-origin'), APP);
  });

  test('a page of another origin gets nothing, and other clients what they always got', async () => {
    await using end = await serverFixture(handler([APP]));
    const url = `http://127.0.0.1:${end.port}`;
    for (const origin of ['https://evil.example', 'null', `${APP}.evil.example`, 'http://app.example.com']) {
      const preflight = await fetch(`${url}/v1/models`, { method: 'OPTIONS', headers: { ...PREFLIGHT, origin } });
      await preflight.text();
      const answer = await fetch(`${url}/healthz`, { headers: { origin } });
      await answer.text();
      assert.deepEqual([preflight.status, answer.status], [405, 200]);
      for (const { headers } of [preflight, answer]) {
        assert.equal(headers.get('access-control-allow-origin'), null);
        assert.equal(headers.get('vary'), 'origin');
      }
    }
    const plain = await fetch(`${url}/healthz`);
    await plain.text();
    assert.equal(plain.headers.get('access-control-allow-origin'), null);
  });

  test('any origin, where that is what the operator wants', async () => {
    await using end = await serverFixture(handler(['*']));
    const answer = await fetch(`http://127.0.0.1:${end.port}/healthz`, { headers: { origin: 'null' } });
    await answer.text();
    assert.equal(answer.headers.get('access-control-allow-origin'), '*');
    assert.equal(answer.headers.get('vary'), null);
  });

  test('a request for headers that are no headers is not repeated', async () => {
    await using end = await serverFixture(handler(['*']));
    const headers = { ...PREFLIGHT, 'access-control-request-headers': 'a"b' };
    const preflight = await fetch(`http://127.0.0.1:${end.port}/v1/models`, { method: 'OPTIONS', headers });
    await preflight.text();
    assert.equal(preflight.status, 200);
    assert.equal(preflight.headers.get('access-control-allow-headers'), null);
  });
});

test('without an allowed origin nothing stands in a request’s way', () => {
  const plain: RequestHandler = {
    onRequest: () => undefined,
    onUpgrade: () => undefined,
    refusal: () => assert.fail(),
  };
  assert.equal(withCors(plain, []), plain);
});
