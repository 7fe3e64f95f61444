/** Proxies, authorities, client certificates and HTTP/2, against real servers. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  type Http2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { type Network, PLAIN_NETWORK } from '../../../../src/core/provider.ts';
import { HttpClient } from '../../../../src/transport/client/http-client.ts';
import { certificateOf, certificateOfLocalhost } from '../../../support/certificate.ts';
import { ConnectProxy } from '../../../support/connect-proxy.ts';
import { freePort } from '../../../support/free-port.ts';
import { answer, BODIES, BODY, type CallParts, destinationOf, Heard, RawServer, TIMEOUTS } from './fixture.ts';

const SHORT_MS = 60;
const provider = certificateOf('provider.test');
const CHUNKED_HEAD = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';

class Client implements AsyncDisposable {
  readonly transport = new HttpClient();

  ask(parts: CallParts & { readonly origin: string }, network: Partial<Network>, heard = new Heard()) {
    const { body = BODY, timeouts = TIMEOUTS } = parts;
    const destination = destinationOf({ ...parts, network: { ...PLAIN_NETWORK, ...network } });
    return { heard, handle: this.transport.send({ destination, body, timeouts }, heard) };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.transport.close();
  }
}

function portOf(server: RawServer): number {
  return Number(new URL(server.origin()).port);
}

describe('a proxy', () => {
  test('tunnels to a provider over TLS, with its credentials, and the tunnel is used again', async () => {
    await using server = await RawServer.start(provider);
    await using proxy = await ConnectProxy.start({ port: portOf(server), credentials: 'me:se%20cret' });
    await using client = new Client();
    const network = { proxy: proxy.url('me:se%2520cret'), ca: provider.cert };
    const first = client.ask({ origin: 'https://provider.test' }, network);
    const connection = await server.next();
    await connection.requests(1);
    assert.match(connection.text, /^POST \/p HTTP\/1\.1\r\nhost: provider\.test\r\n/);
    assert.doesNotMatch(connection.text, /proxy-/i);
    connection.say(`${CHUNKED_HEAD}2\r\nab\r\n`);
    await first.heard.until('ab');
    connection.say('0\r\n\r\n');
    assert.equal(await first.heard.over, 'end');
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    const second = client.ask({ origin: 'https://provider.test' }, network);
    await connection.requests(2);
    connection.say(answer('again'));
    assert.equal(await second.heard.over, 'end');
    assert.deepEqual(proxy.asked, ['CONNECT provider.test:443']);
  });

  test('forwards to a provider over plain HTTP', async () => {
    await using server = await RawServer.start();
    await using proxy = await ConnectProxy.start({ port: portOf(server) });
    await using client = new Client();
    const { heard } = client.ask({ origin: 'http://provider.test:8000' }, { proxy: proxy.url() });
    const connection = await server.next();
    await connection.requests(1);
    assert.match(connection.text, /^POST \/p HTTP\/1\.1\r\n/);
    assert.match(connection.text, /\r\nhost: provider\.test:8000\r\n/i);
    connection.say(answer('hello'));
    assert.equal(await heard.over, 'end');
    assert.equal(heard.content, 'hello');
    assert.deepEqual(proxy.asked, ['POST http://provider.test:8000/p']);
  });

  for (const [what, refuses] of [
    ['does not know the gateway', 407],
    ['does not let it through', 403],
    ['cannot reach the provider', 502],
  ] as const) {
    test(`that ${what} (${refuses}): nothing is sent, and the operator can read which proxy it was`, async () => {
      await using server = await RawServer.start(provider);
      await using proxy = await ConnectProxy.start({
        port: portOf(server),
        ...(refuses === 407 ? { credentials: 'me:right' } : { refuses }),
      });
      await using client = new Client();
      const network = { proxy: proxy.url('me:wrong'), ca: provider.cert };
      const { heard } = client.ask({ origin: 'https://provider.test' }, network);
      assert.equal(await heard.over, `proxy_refused (status ${refuses})`);
      assert.equal(heard.failure?.detail, `the proxy http://${proxy.host} answered with status ${refuses}`);
      assert.equal(server.connections, 0);
    });
  }

  test('that does not know the gateway refuses requests over plain HTTP as well', async () => {
    await using server = await RawServer.start();
    await using proxy = await ConnectProxy.start({ port: portOf(server), credentials: 'me:right' });
    await using client = new Client();
    const { heard } = client.ask({ origin: 'http://provider.test' }, { proxy: proxy.url('me:wrong') });
    assert.equal(await heard.over, 'proxy_refused (status 407)');
    assert.equal(heard.failure?.detail, `the proxy http://${proxy.host} answered with status 407`);
    assert.equal(server.connections, 0);
  });

  test('that is not there, or says nothing: told as such', async () => {
    await using client = new Client();
    const port = await freePort();
    const absent = client.ask({ origin: 'https://provider.test' }, { proxy: `http://127.0.0.1:${port}` });
    assert.equal(await absent.heard.over, 'unreachable (ECONNREFUSED)');
    assert.equal(absent.heard.failure?.detail, `the proxy http://127.0.0.1:${port}: ECONNREFUSED`);
    await using silent = await ConnectProxy.start({ port, refuses: 'silence' });
    const timeouts = { ...TIMEOUTS, connectMs: SHORT_MS };
    const unanswered = client.ask({ origin: 'https://provider.test', timeouts }, { proxy: silent.url() });
    assert.equal(await unanswered.heard.over, 'connect_timeout (ETIMEDOUT)');
    assert.match(unanswered.heard.failure?.detail ?? '', new RegExp(`the proxy http://${silent.host}`));
  });

  test('a provider behind it whose certificate is not trusted is not asked', async () => {
    await using server = await RawServer.start(provider);
    await using proxy = await ConnectProxy.start({ port: portOf(server) });
    await using client = new Client();
    const { heard } = client.ask({ origin: 'https://provider.test' }, { proxy: proxy.url() });
    assert.match(await heard.over, /^unreachable \((DEPTH_ZERO_SELF_SIGNED_CERT|CERT_SIGNATURE_FAILURE)\)$/);
  });

  test('an abort closes the tunnel', async () => {
    await using server = await RawServer.start(provider);
    await using proxy = await ConnectProxy.start({ port: portOf(server) });
    await using client = new Client();
    const { heard, handle } = client.ask(
      { origin: 'https://provider.test' },
      { proxy: proxy.url(), ca: provider.cert },
    );
    const connection = await server.next();
    await connection.requests(1);
    connection.say(`${CHUNKED_HEAD}1\r\na\r\n`);
    await heard.until('a');
    handle.abort();
    await connection.closed;
    assert.equal(heard.outcome, null);
  });
});

describe('certificates', () => {
  const server = certificateOfLocalhost();
  const stranger = certificateOfLocalhost();
  const identity = certificateOf('gateway');

  test('a server of the configured authority is asked, one of another is not', async () => {
    await using raw = await RawServer.start(server);
    await using client = new Client();
    const origin = raw.origin('localhost');
    const { heard } = client.ask({ origin }, { ca: server.cert });
    const connection = await raw.next();
    await connection.requests(1);
    connection.say(answer('hello'));
    assert.equal(await heard.over, 'end');
    const other = client.ask({ origin }, { ca: stranger.cert });
    assert.match(await other.heard.over, /^unreachable \((DEPTH_ZERO_SELF_SIGNED_CERT|CERT_SIGNATURE_FAILURE)\)$/);
  });

  test('a server that wants a certificate of the gateway gets it, and refuses without', async () => {
    await using raw = await RawServer.start({
      ...server,
      requestCert: true,
      rejectUnauthorized: true,
      ca: identity.cert,
    });
    await using client = new Client();
    const origin = raw.origin('localhost');
    const known = { ca: server.cert, clientCert: identity.cert, clientKey: identity.key };
    const { heard } = client.ask({ origin }, known);
    const connection = await raw.next();
    await connection.requests(1);
    connection.say(answer('hello'));
    assert.equal(await heard.over, 'end');
    const unknown = client.ask({ origin }, { ca: server.cert });
    // In TLS 1.3 the client learns of it only after its own side of the handshake.
    assert.match(await unknown.heard.over, /^(?:unreachable|broken) \((?:ERR_SSL_\w+|ECONNRESET|closed early)\)$/);
    assert.equal(unknown.heard.status, 0);
  });
});

describe('HTTP/2', () => {
  test('calls share a connection, with their own time-outs and aborts', async () => {
    await using server = await Http2Server.start();
    await using client = new Client();
    const network = { ca: server.certificate.cert, http2: true };
    const origin = server.origin;
    const first = client.ask({ origin, headers: { 'x-a': 'b' } }, network);
    const asked = await server.next();
    assert.equal(asked.headers['x-a'], 'b');
    assert.equal(asked.headers['content-length'], String(BODY.length));
    asked.stream.respond({ ':status': 200, 'content-type': 'text/event-stream' });
    asked.stream.write('one');
    await first.heard.until('one');
    assert.equal(first.heard.field('content-type'), 'text/event-stream');

    const cut = client.ask({ origin }, network);
    const cutCall = await server.next();
    const slow = client.ask({ origin, timeouts: { ...TIMEOUTS, firstByteMs: SHORT_MS } }, network);
    const slowCall = await server.next();
    cut.handle.abort();
    await cutCall.closed;
    assert.equal(await slow.heard.over, 'first_byte_timeout (ETIMEDOUT)');
    await slowCall.closed;

    asked.stream.end('two');
    assert.equal(await first.heard.over, 'end');
    assert.equal(first.heard.content, 'onetwo');
    assert.equal(cut.heard.outcome, null);
    assert.equal(server.sessions, 1);
  });

  // In the middle of a response undici takes a reset for its end; test/gateway/upstream/network.test.ts holds what comes of it.
  test('a stream that the server resets before its response is broken, and its neighbours go on', async () => {
    await using server = await Http2Server.start();
    await using client = new Client();
    const network = { ca: server.certificate.cert, http2: true };
    const broken = client.ask({ origin: server.origin }, network);
    const one = await server.next();
    const other = client.ask({ origin: server.origin }, network);
    const two = await server.next();
    one.stream.close(2);
    assert.match(await broken.heard.over, /^broken \(/);
    two.stream.respond({ ':status': 200 });
    two.stream.end('whole');
    assert.equal(await other.heard.over, 'end');
  });

  for (const [size, body] of Object.entries(BODIES)) {
    test(`a stream that the server has not processed is sent again (a ${size} body)`, async () => {
      await using server = await Http2Server.start();
      await using client = new Client();
      const { heard } = client.ask({ origin: server.origin, body }, { ca: server.certificate.cert, http2: true });
      (await server.next()).stream.close(constants.NGHTTP2_REFUSED_STREAM);
      const { stream, bytes } = await server.next();
      assert.equal(bytes, body.length);
      stream.respond({ ':status': 200 });
      stream.end('whole');
      assert.equal(await heard.over, 'end');
    });
  }

  test('a pause holds the server up', async () => {
    await using server = await Http2Server.start();
    await using client = new Client();
    const { heard, handle } = client.ask({ origin: server.origin }, { ca: server.certificate.cert, http2: true });
    const { stream } = await server.next();
    stream.respond({ ':status': 200 });
    stream.write('a');
    await heard.until('a');
    handle.pause();
    const large = Buffer.alloc(8 * 1_024 * 1_024, 0x62);
    let sent = false;
    stream.end(large, () => {
      sent = true;
    });
    // Another call runs its whole course meanwhile.
    const witness = client.ask({ origin: server.origin }, { ca: server.certificate.cert, http2: true });
    const call = await server.next();
    call.stream.respond({ ':status': 200 });
    call.stream.end('witness');
    assert.equal(await witness.heard.over, 'end');
    assert.deepEqual([heard.content.length, sent], [1, false]);
    handle.resume();
    assert.equal(await heard.over, 'end');
    assert.equal(heard.content.length, large.length + 1);
  });

  test('a server that has only HTTP/1.1 is spoken to in that', async () => {
    const certificate = certificateOfLocalhost();
    await using raw = await RawServer.start({ ...certificate, ALPNProtocols: ['http/1.1'] });
    await using client = new Client();
    const { heard } = client.ask({ origin: raw.origin('localhost') }, { ca: certificate.cert, http2: true });
    const connection = await raw.next();
    await connection.requests(1);
    connection.say(answer('old'));
    assert.equal(await heard.over, 'end');
  });

  test('through a proxy', async () => {
    await using server = await Http2Server.start('provider.test');
    await using proxy = await ConnectProxy.start({ port: server.port });
    await using client = new Client();
    const network = { ca: server.certificate.cert, http2: true, proxy: proxy.url() };
    const { heard } = client.ask({ origin: 'https://provider.test' }, network);
    const { stream } = await server.next();
    stream.respond({ ':status': 200 });
    stream.end('hello');
    assert.equal(await heard.over, 'end');
    assert.deepEqual(proxy.asked, ['CONNECT provider.test:443']);
  });
});

interface Http2Call {
  readonly stream: ServerHttp2Stream;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Of the body. */
  readonly bytes: number;
  readonly closed: Promise<unknown>;
}

class Http2Server implements AsyncDisposable {
  sessions = 0;
  readonly certificate;
  readonly #server: Http2SecureServer;
  readonly #name: string;
  readonly #open: Http2Session[] = [];
  readonly #arrived: Http2Call[] = [];
  readonly #waiting: ((call: Http2Call) => void)[] = [];

  private constructor(name: string) {
    this.#name = name;
    this.certificate = certificateOf(name);
    this.#server = createSecureServer(this.certificate);
    this.#server.on('session', (session) => {
      this.sessions += 1;
      this.#open.push(session);
    });
    this.#server.on('stream', (stream: ServerHttp2Stream, headers) => {
      const closed = new Promise((resolve) => stream.once('close', resolve));
      stream.on('error', () => {});
      let bytes = 0;
      stream.on('data', (piece: Buffer) => {
        bytes += piece.length;
      });
      stream.on('end', () => {
        const call = { stream, headers, bytes, closed };
        const wake = this.#waiting.shift();
        if (wake) wake(call);
        else this.#arrived.push(call);
      });
    });
  }

  static async start(name = 'localhost'): Promise<Http2Server> {
    const server = new Http2Server(name);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get origin(): string {
    return `https://${this.#name}:${this.port}`;
  }

  /** The next request whose body has come whole. */
  next(): Promise<Http2Call> {
    const call = this.#arrived.shift();
    return call ? Promise.resolve(call) : new Promise((resolve) => this.#waiting.push(resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const session of this.#open) session.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
