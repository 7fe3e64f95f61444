/** HTTP/2, by a client that other people wrote. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { constants } from 'node:http2';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { pending } from '../../../support/pending.ts';
import { contentOf, echo, gatedServer, sendText } from './fixture.ts';
import { asked, received, secureServer, session, tls } from './secure-fixture.ts';

describe('HTTP/2', () => {
  test('is served to clients that ask for it: whole responses, side by side on one connection', async (t) => {
    const end = await secureServer(t, echo);
    const client = await session(t, end.port);
    assert.equal(client.alpnProtocol, 'h2');
    const one = client.request({ ':method': 'POST', ':path': '/one' });
    const two = client.request({ ':method': 'POST', ':path': '/two?x=y' });
    one.end('first');
    two.end('second');
    const [first, second] = await Promise.all([received(one), received(two)]);
    assert.deepEqual([first.status, first.text], [200, 'POST /one first.']);
    assert.deepEqual([second.status, second.text], [200, 'POST /two?x=y second.']);
    assert.equal(first.headers['content-type'], 'text/plain');
    assert.equal(first.headers['content-length'], String('POST /one first.'.length));
    assert.ok('date' in first.headers);
    assert.equal(end.server.connections, 1);
  });

  test('a request has the headers that were sent, no pseudo-headers, and its length apart', async (t) => {
    const { end, next } = await gatedServer({}, { tls });
    t.after(() => end[Symbol.asyncDispose]());
    const client = await session(t, end.port);
    const stream = client.request({
      ':method': 'POST',
      ':path': '/',
      'x-one': 'a',
      'x-two': ['b', 'c'],
      'content-length': 2,
    });
    stream.end('hi');
    const { request, response } = await next();
    const { headers } = request;
    assert.deepEqual([request.method, request.target, request.contentBytes], ['POST', '/', 2]);
    assert.deepEqual([headers.get('x-one'), headers.first('x-two'), headers.get('x-two')], ['a', 'b', 'b,c']);
    assert.deepEqual([headers.repeated('x-one'), headers.repeated('x-two')], [false, true]);
    assert.deepEqual([headers.get('content-length'), headers.get(':path')], [null, null]);
    assert.equal(request.remoteAddress, '127.0.0.1');
    assert.equal(String(await contentOf(request)), 'hi');
    sendText(response, 'done');
    assert.equal((await received(stream)).text, 'done');
  });

  test('a stream reaches the client piece by piece; fields of a connection are left out', async (t) => {
    const { end, next } = await gatedServer({}, { tls });
    t.after(() => end[Symbol.asyncDispose]());
    const client = await session(t, end.port);
    const stream = client.request({ ':path': '/' });
    const { response } = await next();
    response.writeHead(200, ['content-type', 'text/event-stream', 'connection', 'keep-alive', 'keep-alive', 'x']);
    response.flushHeaders();
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
    assert.deepEqual([headers[':status'], headers['content-type']], [200, 'text/event-stream']);
    assert.deepEqual([headers.connection, headers['keep-alive']], [undefined, undefined]);
    for (const piece of ['one', 'two']) {
      response.write(Buffer.from(piece));
      const [data] = (await once(stream, 'data')) as [Buffer];
      assert.equal(String(data), piece);
    }
    const ended = once(stream, 'end');
    response.end(Buffer.from('last'));
    const [data] = (await once(stream, 'data')) as [Buffer];
    assert.equal(String(data), 'last');
    await ended;
  });

  test('[F13] a client that resets its stream has closed it; the others of the connection go on', async (t) => {
    const { end, next } = await gatedServer({}, { tls });
    t.after(() => end[Symbol.asyncDispose]());
    const client = await session(t, end.port);
    const kept = client.request({ ':path': '/kept' });
    const first = await next();
    const reset = client.request({ ':path': '/reset' });
    reset.on('error', () => {});
    const second = await next();
    second.response.writeHead(200, []);
    second.response.write(Buffer.from('some'));
    await once(reset, 'data');
    const closed = new Promise<void>((resolve) => second.response.onClose(resolve));
    reset.close(constants.NGHTTP2_CANCEL);
    await closed;
    assert.equal(second.response.closed, true);
    // Nothing of this may throw, or reach anybody.
    assert.equal(second.response.write(Buffer.from('late')), true);
    second.response.end(Buffer.from('late'));
    assert.equal(first.response.closed, false);
    sendText(first.response, 'served');
    assert.equal((await received(kept)).text, 'served');
  });

  test('[F13] a client that goes away takes all its streams along, and the body that it was sending', async (t) => {
    const { end, next } = await gatedServer({}, { tls });
    t.after(() => end[Symbol.asyncDispose]());
    const client = await session(t, end.port);
    client.request({ ':path': '/waits' }).on('error', () => {});
    const waits = await next();
    const upload = client.request({ ':method': 'POST', ':path': '/sends' });
    upload.on('error', () => {});
    upload.write('half');
    const sends = await next();
    const content = contentOf(sends.request);
    const closed = new Promise<void>((resolve) => waits.response.onClose(resolve));
    client.destroy();
    await closed;
    assert.equal(await content, null);
    assert.equal(sends.response.closed, true);
    while (end.server.connections > 0) await turn();
  });

  test('[F14] a client that reads too slowly stops the writer until it goes on', async (t) => {
    const { end, next } = await gatedServer({}, { tls });
    t.after(() => end[Symbol.asyncDispose]());
    const client = await session(t, end.port);
    const stream = client.request({ ':path': '/' });
    stream.pause();
    const { response } = await next();
    response.writeHead(200, []);
    let bytes = 0;
    while (response.write(Buffer.alloc(16_384, 'x'))) {
      bytes += 16_384;
      assert.ok(bytes < 16 * 1_024 * 1_024, 'the flow control of a stream holds');
      await turn();
    }
    const drained = new Promise<void>((resolve) => response.onDrain(resolve));
    assert.equal(await pending(drained), true);
    stream.resume();
    await drained;
    response.end(Buffer.from('last'));
    await once(stream, 'end');
  });

  test('a stream that is destroyed cannot be taken for a complete one', async (t) => {
    const { end, next } = await gatedServer({}, { tls });
    t.after(() => end[Symbol.asyncDispose]());
    const client = await session(t, end.port);
    const stream = client.request({ ':path': '/' });
    const failed = once(stream, 'error');
    const { response } = await next();
    response.writeHead(200, []);
    response.write(Buffer.from('some'));
    await once(stream, 'data');
    response.destroy();
    const [error] = (await failed) as [NodeJS.ErrnoException];
    assert.equal(error.code, 'ERR_HTTP2_STREAM_ERROR');
  });

  test('the last bytes of a stream that are not taken in time end it', async (t) => {
    const LINGER_MS = 50;
    const end = await secureServer(t, (_request, response) => {
      response.writeHead(200, []);
      response.end(Buffer.alloc(4_000_000, 'x'), LINGER_MS);
    });
    const client = await session(t, end.port);
    const stream = client.request({ ':path': '/' });
    stream.pause();
    stream.on('error', () => {});
    while (!stream.closed) await turn();
    assert.equal(stream.rstCode, constants.NGHTTP2_INTERNAL_ERROR);
  });

  test('HEAD has the head alone', async (t) => {
    const end = await secureServer(t, (_request, response) => sendText(response, 'body'));
    const client = await session(t, end.port);
    const { headers, text } = await received(client.request({ ':method': 'HEAD', ':path': '/' }));
    assert.deepEqual([headers['content-length'], text], ['4', '']);
  });

  test('100 Continue is sent when the content is wanted, and only then', async (t) => {
    const { end, next } = await gatedServer({}, { tls });
    t.after(() => end[Symbol.asyncDispose]());
    const client = await session(t, end.port);
    const stream = client.request({ ':method': 'POST', ':path': '/', expect: '100-continue' });
    let continued = false;
    stream.on('continue', () => {
      continued = true;
      stream.end('hi');
    });
    const { request, response } = await next();
    await turn();
    assert.equal(continued, false);
    assert.equal(String(await contentOf(request)), 'hi');
    sendText(response, 'done');
    assert.equal((await received(stream)).text, 'done');
  });

  test('content that nobody wants ends with the response: the client is told to stop sending', async (t) => {
    const end = await secureServer(t, (_request, response) => sendText(response, 'too long', 413));
    const client = await session(t, end.port);
    const stream = client.request({ ':method': 'POST', ':path': '/' });
    stream.write(Buffer.alloc(10_000_000));
    const { status, text } = await received(stream);
    assert.deepEqual([status, text], [413, 'too long']);
    assert.equal((await received(client.request({ ':path': '/' }))).status, 413);
  });

  test('a head that HTTP/1.1 would not have is refused, and the connection goes on', async (t) => {
    const end = await secureServer(t, echo);
    const client = await session(t, end.port);
    for (const [headers, fault] of [
      [{ ':path': '/#fragment' }, 'malformed'],
      [{ ':method': 'FETCH', ':path': '/' }, 'malformed'],
      [{ ':path': '/', ':authority': 'here', host: 'elsewhere' }, 'malformed'],
      [{ ':path': '/', 'x-large': 'y'.repeat(33_000) }, 'too_large'],
      [
        Object.fromEntries([[':path', '/'], ...Array.from({ length: 201 }, (_, i) => [`x-${i}`, 'y'])]),
        'too_many_fields',
      ],
    ] as const) {
      const { status, text } = await received(client.request(headers));
      assert.deepEqual([status, text], [400, fault]);
    }
    assert.equal((await received(client.request({ ':path': '/' }))).text, 'GET / .');
  });

  test('[F24] content that is sent too slowly is refused', async (t) => {
    const end = await secureServer(t, echo, { headersTimeoutMs: 2_000, requestTimeoutMs: 2_000 });
    const client = await session(t, end.port);
    const stream = client.request({ ':method': 'POST', ':path': '/' });
    stream.write('half');
    const { status, text } = await received(stream);
    assert.deepEqual([status, text], [400, 'too_slow']);
  });

  test('an idle connection is closed, a busy one is not', async (t) => {
    const server = await gatedServer({ headersTimeoutMs: 2_000, keepAliveTimeoutMs: 40 }, { tls });
    t.after(() => server.end[Symbol.asyncDispose]());
    const busy = await asked(t, server);
    const idle = await asked(t, server);
    const closed = once(idle.client, 'close');
    const done = received(idle.stream);
    sendText(idle.response, 'done');
    assert.equal((await done).text, 'done');
    await closed;
    const ended = once(busy.client, 'close');
    const last = received(busy.stream);
    sendText(busy.response, 'at last');
    assert.equal((await last).text, 'at last');
    await ended;
  });

  test('[F32] a connection beyond the limit is served the reason alone', async (t) => {
    const end = await secureServer(t, echo, { connections: 1 }, { isProxy: () => true });
    const first = await session(t, end.port);
    assert.equal((await received(first.request({ ':path': '/' }))).status, 200);
    const second = await session(t, end.port);
    const closed = once(second, 'close');
    const { status, text } = await received(second.request({ ':path': '/' }));
    assert.deepEqual([status, text], [503, 'too_many_connections']);
    await closed;
    assert.equal((await received(first.request({ ':path': '/' }))).status, 200);
  });

  test('[F9] a server that closes lets running streams end, and accepts no others', async (t) => {
    const { end, next } = await gatedServer({}, { tls });
    t.after(() => end[Symbol.asyncDispose]());
    const client = await session(t, end.port);
    const stream = client.request({ ':path': '/' });
    const { response } = await next();
    const goaway = once(client, 'goaway');
    const closed = once(client, 'close');
    end.server.close();
    await goaway;
    sendText(response, 'last');
    assert.equal((await received(stream)).text, 'last');
    await closed;
  });
});
