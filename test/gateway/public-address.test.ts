/** How clients address the gateway: the base URL that a refusal names, and targets in absolute form. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ENDPOINTS, type EndpointName } from '../../src/core/endpoints.ts';
import { bodyOf, type RawReply, rawBytes, rawCall, readError } from '../support/requests.ts';
import { startedGateway, withGateway } from '../support/started-gateway.ts';

const NAMES = Object.keys(ENDPOINTS) as EndpointName[];
const gateway = await withGateway();

/** To the other mode's origin, with this Host header. */
function misdirected(origin: string, name: EndpointName, key: string, host: string): Promise<RawReply> {
  const { method, path } = ENDPOINTS[name];
  const { port } = new URL(origin);
  const body = method === 'POST' ? JSON.stringify(bodyOf(name)) : '';
  const head = [
    `${method} /token${path} HTTP/1.1`,
    `Host: ${host}`,
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  return rawBytes(`http://127.0.0.1:${port}`, `${head.join('\r\n')}\r\n\r\n${body}`);
}

describe('[R5] a key at the other origin', () => {
  test('is sent to the host that the request came to, not to the listen address', async () => {
    const key = await gateway.creditKey();
    for (const name of NAMES) {
      const reply = await misdirected(gateway.origin, name, key.key, 'gateway.internal:8443');
      const { message } = readError(reply.status, reply.headers, reply.text, ENDPOINTS[name].envelope);
      assert.match(message, / http:\/\/gateway\.internal:8443\/v1 .* http:\/\/gateway\.internal:8443 /, name);
      assert.doesNotMatch(message, /127\.0\.0\.1/);
    }
  });

  test("is sent to the operator's public URL where one is set, which key views show too", async () => {
    const env = { GATEWAY_PUBLIC_URL: 'https://ai.example.com/gateway/' };
    await using own = await startedGateway({ env });
    const key = await own.creditKey();
    assert.equal(key.base_url, 'https://ai.example.com/gateway/v1');
    const reply = await misdirected(own.origin, 'chat', key.key, '10.0.0.1');
    const { message } = readError(reply.status, reply.headers, reply.text, 'A');
    assert.match(message, / https:\/\/ai\.example\.com\/gateway\/v1 .* https:\/\/ai\.example\.com\/gateway /);
  });

  test('[R12] sees its rate limit, and takes no place in it', async () => {
    const key = await gateway.creditKey({ rpm_limit: 3 });
    for (const name of NAMES) {
      const { headers, status } = await misdirected(gateway.origin, name, key.key, 'gateway.internal');
      assert.ok(status === 403 || status === 401);
      assert.equal(headers.get('x-ratelimit-limit-requests'), '3', name);
      assert.equal(headers.get('x-ratelimit-remaining-requests'), '3', name);
      assert.ok(headers.has('x-ratelimit-reset-requests'), name);
    }
  });
});

describe('a request target in absolute form', () => {
  test('is served as the path that it names', async () => {
    const key = await gateway.creditKey();
    const authorization: [string, string] = ['authorization', `Bearer ${key.key}`];
    const send = (method: string, path: string, body?: string): Promise<RawReply> =>
      rawCall(gateway.origin, {
        method,
        path,
        headers: [authorization, ['content-type', 'application/json']],
        ...(body === undefined ? {} : { body }),
      });
    const listed = await send('GET', `${gateway.origin}/v1/models`);
    assert.equal(listed.status, 200);
    assert.match(listed.text, /sandbox\/alpha/);
    assert.equal((await send('GET', 'http://gateway.example.com/v1/models?limit=5')).status, 200);
    assert.equal((await send('GET', 'https://gateway.example.com')).status, 200);
    assert.equal((await send('GET', 'http://gateway.example.com?a=b')).status, 200);
    assert.equal((await send('GET', 'http://gateway.example.com/v1/nothing')).status, 404);
    const said = await send('POST', 'http://gateway.example.com/v1/chat/completions', JSON.stringify(bodyOf('chat')));
    assert.equal(said.status, 200, said.text);
  });
});
