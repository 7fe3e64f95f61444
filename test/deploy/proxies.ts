/** The examples of deploy/proxy keep what the gateway promises: streams, disconnects, errors and client addresses. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import type { RequestRecord } from '../../src/core/request-record.ts';
import { refusedHandshake, SocketClient, webSocketOf } from '../support/socket-client.ts';
import { type StartedGateway, startedGateway } from '../support/started-gateway.ts';
import { type GatedUpstream, gatedUpstream } from '../support/upstreams/gated.ts';
import { PROXIES, type RunningProxy, startProxy } from './proxy.ts';
import { tool } from './tools.ts';

const CLIENT = '127.0.0.2';

for (const name of PROXIES) {
  describe(name, { skip: tool(name).skip, timeout: 600_000 }, () => {
    let upstream: GatedUpstream;
    let gateway: StartedGateway;
    let proxy: RunningProxy;
    let key: string;
    const records: RequestRecord[] = [];

    before(async () => {
      upstream = await gatedUpstream();
      gateway = await startedGateway({
        config: `${upstream.config}request_log: { client_address: true }\n`,
        env: { GATEWAY_TRUSTED_PROXIES: '127.0.0.1' },
        observers: [{ started: () => {}, finished: (record) => records.push(record) }],
      });
      key = (await gateway.creditKey()).key;
      proxy = await startProxy(name, [gateway.origin, gateway.origin]);
    });
    after(async () => {
      await proxy?.[Symbol.asyncDispose]();
      assert.deepEqual((await gateway.audit()).findings, []);
      await gateway[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
    });

    function begin(headers: Record<string, string>): ClientRequest {
      return httpRequest(`${proxy.origin}/v1/chat/completions`, {
        method: 'POST',
        agent: false,
        localAddress: CLIENT,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      });
    }

    function send(body: object, headers: Record<string, string> = {}): ClientRequest {
      const request = begin(headers);
      request.end(JSON.stringify(body));
      return request;
    }

    const STREAM = { model: 'gated/one', stream: true, max_tokens: 50, messages: [{ role: 'user', content: 'Hi' }] };

    async function answer(request: ClientRequest): Promise<IncomingMessage> {
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      return response;
    }

    test('an event is there before the provider has sent the next one', async () => {
      const response = await begun(STREAM);
      const [piece] = (await once(response, 'data')) as [Buffer];
      assert.match(piece.toString(), /"role":"assistant"/);
      (await held).finish();
      assert.match(await text(response), /\[DONE\]\n\n$/);
    });

    let held: ReturnType<GatedUpstream['next']>;
    async function begun(body: object): Promise<IncomingMessage> {
      held = upstream.next();
      const request = send(body);
      (await held).begin();
      return answer(request);
    }

    test('[F13] a client that leaves stops the provider', async () => {
      const response = await begun(STREAM);
      await once(response, 'data');
      const { closed } = await held;
      response.destroy();
      await closed;
    });

    test('the address of the client is what the proxy saw, not what the client wrote', async () => {
      const known = records.length;
      const request = send(
        { ...STREAM, stream: false },
        { 'x-forwarded-for': '203.0.113.9', forwarded: 'for=203.0.113.9' },
      );
      (await upstream.next()).answer();
      const response = await answer(request);
      assert.equal(response.statusCode, 200);
      await text(response);
      while (records.length <= known) await new Promise(setImmediate);
      assert.equal(records.at(-1)?.clientAddress, CLIENT);
    });

    test('a body that is too large is refused by the gateway, in its own form', async () => {
      // nginx reads all of it first. The others pass on what comes, and the gateway refuses by the length alone: a client that
      // went on sending could lose the answer to a reset of the connection.
      const bytes = 34 * 1024 * 1024;
      const request = begin({ 'content-length': String(bytes) });
      request.write('x'.repeat(name === 'nginx' ? bytes : 1));
      const response = await answer(request);
      const body = await text(response);
      assert.equal(response.statusCode, 413, body);
      assert.match(body, /"code":"request_too_large"/);
      assert.match(response.headers['content-type'] ?? '', /^application\/json/);
      request.on('error', () => {});
      request.destroy();
    });

    test('[R80] a WebSocket is passed on, with the address of its client, and so is what it is refused with', async () => {
      const known = records.length;
      await using client = await SocketClient.open({ origin: proxy.origin, key }, { localAddress: CLIENT });
      client.create('Hi', { model: 'gated/one' });
      const call = await upstream.next();
      call.begin();
      assert.equal((await client.next()).type, 'response.created', 'an event is there before the next one is sent');
      call.finish();
      await client.completed();
      const wrong = await refusedHandshake(webSocketOf({ origin: proxy.origin, key: 'mg_c_wrong' }));
      assert.deepEqual(wrong, { status: 401, code: 'invalid_credentials' });
      const seen = records.slice(known).filter(({ status }) => status === 101 || status === 200);
      assert.deepEqual(
        seen.map(({ clientAddress }) => clientAddress),
        [CLIENT, CLIENT],
      );
    });

    test('a large prompt and its idempotency key arrive as they were sent', async () => {
      const body = { ...STREAM, stream: false, messages: [{ role: 'user', content: 'w '.repeat(100_000) }] };
      const first = send(body, { 'idempotency-key': 'once' });
      (await upstream.next()).answer();
      const response = await answer(first);
      assert.equal(response.statusCode, 200, await text(response));
      const again = await answer(send(body, { 'idempotency-key': 'once' }));
      assert.equal(again.headers['idempotent-replayed'], 'true');
      await text(again);
    });
  });
}
