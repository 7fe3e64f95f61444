import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { listenOnPort } from '../../../src/admin/http/server.ts';
import { type AdminFixture, adminFixture } from '../../support/admin-fixture.ts';

const ADMIN_SECRET = 'admin-secret-for-tests-0123456789abcdef';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: {
    readonly error: { readonly code: string; readonly message: string; readonly request_id: string };
    readonly [field: string]: unknown;
  };
}

interface AdminPortFixture extends AdminFixture {
  readonly port: number;
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
}

async function adminPort(
  t: TestContext,
  hosts: readonly string[] = [],
  options: Parameters<typeof adminFixture>[1] = {},
  metricsToken: string | null = null,
): Promise<AdminPortFixture> {
  const fixture = adminFixture(t, options);
  const own = { secret: ADMIN_SECRET, host: '127.0.0.1', port: 0, hosts, metricsToken };
  const listener = await listenOnPort(fixture.adminService, own);
  t.after(() => listener.close());
  const { port } = listener;
  return { ...fixture, port, send: (...call) => send(port, ...call) };
}

async function send(
  port: number,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const { text, ...head } = await answered(port, method, path, body, headers);
  return { ...head, body: JSON.parse(text) };
}

/** `node:http` and not fetch: fetch would not let a test choose its Host header. */
async function answered(
  port: number,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Omit<Answer, 'body'> & { readonly text: string }> {
  const request = httpRequest({
    port,
    host: '127.0.0.1',
    method,
    path,
    agent: false,
    headers: {
      authorization: `Bearer ${ADMIN_SECRET}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
  });
  // A refused body may be cut off while it is being sent; the answer still comes.
  request.on('error', () => undefined);
  request.end(typeof body === 'string' || body === undefined ? body : JSON.stringify(body));
  const [response] = await once(request, 'response');
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  return { status: response.statusCode, headers: response.headers, text };
}

describe('the admin port', () => {
  test('serves every operation', async (t) => {
    const { send } = await adminPort(t);
    assert.deepEqual((await send('GET', '/admin/v1/health')).body, { ok: true, pid: process.pid });
    const made = await send('POST', '/admin/v1/keys', { mode: 'credit', credit: '5' });
    assert.equal(made.status, 201);
    const path = `/admin/v1/keys/${made.body.id}`;
    assert.equal((await send('PATCH', path, { label: 'x', status: 'suspended' })).body.status, 'suspended');
    assert.equal((await send('POST', `${path}/credit`, { amount: '0.5' })).body.balance, 5.5);
    const rotated = await send('POST', `${path}/secrets`);
    assert.equal(rotated.status, 201);
    assert.equal((await send('DELETE', `${path}/secrets/${made.body.prefix}`)).body.prefix, rotated.body.prefix);
    assert.equal((await send('DELETE', path)).body.status, 'revoked');
    const shown = await send('GET', path);
    assert.deepEqual([shown.status, shown.body.label, shown.body.key], [200, 'x', undefined]);
    assert.deepEqual((await send('GET', '/admin/v1/keys')).body, {
      object: 'list',
      data: [shown.body],
      next_cursor: null,
    });
    assert.equal((await send('GET', '/admin/v1/audit')).body.ok, true);
  });

  test('is never open without its secret', async (t) => {
    const { send, service, adminService } = await adminPort(t);
    const wrong = [
      '',
      'Bearer',
      'Bearer ',
      `Basic ${ADMIN_SECRET}`,
      'Bearer x',
      `Bearer ${ADMIN_SECRET}x`,
      ADMIN_SECRET,
    ];
    for (const path of ['/admin/v1/health', '/admin/v1/keys', '/admin/v1/audit', '/admin/nowhere']) {
      for (const authorization of wrong) {
        const { status, body, headers } = await send('GET', path, undefined, { authorization });
        assert.deepEqual([status, body.error.code, headers['www-authenticate']], [401, 'unauthorized', 'Bearer']);
      }
    }
    assert.equal((await send('POST', '/admin/v1/keys', { mode: 'credit' }, { authorization: 'Bearer x' })).status, 401);
    assert.deepEqual(await service.listKeys(), []);
    await assert.rejects(listenOnPort(adminService, { secret: '', host: '127.0.0.1', port: 0 }), /must not be empty/);
  });

  test('ends a connection whose body comes in thousands of chunks of 1 byte', async (t) => {
    const { port } = await adminPort(t);
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    const closed = once(socket, 'close');
    socket.write(
      `POST /admin/v1/keys HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${ADMIN_SECRET}\r\n` +
        `Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\n \r\n'.repeat(5_000)}`,
    );
    await closed;
  });

  test('is not to be had by a page that rebinds its name, or from another origin', async (t) => {
    const { send, port } = await adminPort(t);
    for (const host of ['evil.example', `evil.example:${port}`, '127.0.0.1.evil.example', 'localhost.evil.example']) {
      const { status, body } = await send('GET', '/admin/v1/keys', undefined, { host });
      assert.deepEqual([status, body.error.code], [403, 'forbidden']);
    }
    for (const host of ['localhost', `LOCALHOST:${port}`, '127.0.0.1', `[::1]:${port}`]) {
      assert.equal((await send('GET', '/admin/v1/keys', undefined, { host })).status, 200);
    }
    const stranger = await send('GET', '/admin/v1/keys', undefined, { origin: 'https://evil.example' });
    assert.deepEqual([stranger.status, stranger.headers['access-control-allow-origin']], [403, undefined]);
    const own = { host: `127.0.0.1:${port}`, origin: `http://127.0.0.1:${port}` };
    assert.equal((await send('GET', '/admin/v1/keys', undefined, own)).status, 200);
  });

  test('is to be had under the names that the operator allows, and under any address', async (t) => {
    const { send } = await adminPort(t, ['console.example.com']);
    const behindProxy = { host: 'Console.example.com', origin: 'https://Console.example.com' };
    assert.equal((await send('GET', '/admin/v1/keys', undefined, behindProxy)).status, 200);
    for (const host of ['10.1.2.3:8081', '[2001:db8::1]:8081']) {
      assert.equal((await send('GET', '/admin/v1/keys', undefined, { host })).status, 200);
    }
    const { status, body } = await send('GET', '/admin/v1/keys', undefined, { host: 'example.com' });
    assert.equal(status, 403);
    assert.match(
      body.error.message,
      /one of localhost, console\.example\.com \(add yours to GATEWAY_ADMIN_ALLOWED_HOSTS\)/,
    );
  });

  test('lets nobody try credentials for long, and serves those who have one all the same', async (t) => {
    const { send } = await adminPort(t, [], { metrics: async () => '1' }, 'token-of-the-scraper');
    const wrong = { authorization: 'Bearer guess' };
    const statuses = new Set<number>();
    for (let tries = 0; tries < 30; tries++) {
      statuses.add((await send('GET', '/admin/v1/keys', undefined, wrong)).status);
    }
    assert.deepEqual([...statuses], [401]);
    const cookie = { authorization: '', cookie: 'gateway_session=guess' };
    for (const [path, headers] of [
      ['/admin/v1/keys', wrong],
      ['/admin/v1/keys', cookie],
      ['/metrics', wrong],
    ] as const) {
      const { status, body, headers: sent } = await send('GET', path, undefined, headers);
      assert.deepEqual([status, body.error.code], [429, 'rate_limited']);
      assert.ok(Number(sent['retry-after']) > 0 && Number(sent['retry-after']) <= 60);
    }
    assert.equal((await send('GET', '/admin/v1/keys', undefined, {})).status, 200);
    const scraper = { authorization: 'Bearer token-of-the-scraper' };
    assert.equal((await send('GET', '/metrics', undefined, scraper)).status, 200);
    assert.equal((await send('GET', '/admin/v1/keys', undefined, scraper)).status, 429);
  });

  test('tells a probe without a credential whether the gateway is alive and ready, and nothing else', async (t) => {
    let ready = true;
    const { send } = await adminPort(t, [], { ready: async () => ready });
    const probe = (path: string) => send('GET', path, undefined, { authorization: '', host: 'gateway-7.pods.example' });
    assert.deepEqual((await probe('/healthz')).body, { status: 'ok' });
    assert.deepEqual((await probe('/readyz')).body, { status: 'ready' });
    ready = false;
    const { status, body, headers } = await probe('/readyz');
    assert.deepEqual([status, body.error.code, headers['retry-after']], [503, 'unavailable', '1']);
    assert.equal((await probe('/healthz')).status, 200);
    assert.equal((await probe('/admin/v1/health')).status, 403);
  });

  test('answers a probe by HEAD as one by GET, without its body; elsewhere HEAD needs a credential', async (t) => {
    let ready = true;
    const { port } = await adminPort(t, [], { ready: async () => ready });
    const probe = (path: string, headers?: Record<string, string>) => answered(port, 'HEAD', path, undefined, headers);
    const bare = { authorization: '', host: 'gateway-7.pods.example' };
    for (const path of ['/healthz', '/readyz']) {
      const { status, headers, text } = await probe(path, bare);
      const get = await answered(port, 'GET', path, undefined, bare);
      assert.deepEqual([status, text], [200, ''], path);
      assert.equal(headers['content-length'], String(get.text.length));
    }
    ready = false;
    const { status, headers, text } = await probe('/readyz', bare);
    assert.deepEqual([status, headers['retry-after'], text], [503, '1', '']);
    for (const path of ['/metrics', '/admin/v1/health', '/admin/v1/keys', '/admin/v1/openapi.json', '/admin/nowhere']) {
      assert.equal((await probe(path, { authorization: '' })).status, 401, path);
    }
    assert.equal((await probe('/admin/v1/keys')).status, 405);
  });

  test('says with every answer that no page may embed it or guess its type', async (t) => {
    const { send } = await adminPort(t);
    for (const path of ['/admin/v1/health', '/nowhere']) {
      const { headers } = await send('GET', path);
      assert.equal(headers['content-security-policy'], "default-src 'none';frame-ancestors 'none'");
      assert.equal(headers['x-content-type-options'], 'nosniff');
      assert.equal(headers['x-frame-options'], 'SAMEORIGIN');
      assert.equal(headers['x-powered-by'], undefined);
    }
  });

  test('answers bad input with a reason, a request id and no-store', async (t) => {
    const { send, service } = await adminPort(t);
    const { id } = await service.createKey({ mode: 'credit' });
    const cases: readonly (readonly [string, string, unknown, number, RegExp])[] = [
      ['POST', '/admin/v1/keys', '{"mode":', 400, /not valid JSON/],
      ['POST', '/admin/v1/keys', '', 400, /not valid JSON/],
      ['POST', '/admin/v1/keys', '[]', 400, /must be a JSON object/],
      ['POST', '/admin/v1/keys', { mode: 'x' }, 400, /must be one of credit, token_budget/],
      ['POST', '/admin/v1/keys', `"${'x'.repeat(70_000)}"`, 413, /at most 65536 bytes/],
      ['PATCH', `/admin/v1/keys/${id}`, { status: 'expired' }, 400, /expires_at/],
      ['PATCH', `/admin/v1/keys/${id}`, { budget: 5 }, 409, /is a credit key/],
      ['GET', '/admin/v1/keys/nope', undefined, 404, /key "nope" does not exist/],
      ['GET', '/admin/v1/keys/%zz', undefined, 400, /percent-encoded/],
      ['GET', '/admin/v1/keys/a%00', undefined, 400, /zero character/],
      ['GET', '/admin/v1/requests?model=%00', undefined, 400, /zero character/],
      ['GET', '/admin/v1/keys/', undefined, 404, /no such route/],
      ['GET', '/admin', undefined, 404, /\/admin\/v1\/keys\/:id/],
      ['GET', '/nowhere', undefined, 404, /no such page/],
      ['PUT', '/admin/v1/keys', undefined, 405, /supports POST, GET, not PUT/],
    ];
    for (const [method, path, body, status, pattern] of cases) {
      const answer = await send(method, path, body);
      assert.equal(answer.status, status, `${method} ${path}`);
      assert.match(answer.body.error.message, pattern);
      assert.equal(answer.body.error.request_id, answer.headers['x-request-id']);
      assert.equal(answer.headers['cache-control'], 'no-store');
    }
    assert.equal((await send('PUT', '/admin/v1/keys')).headers.allow, 'POST, GET');
    const form = await send('POST', '/admin/v1/keys', 'mode=credit', {
      'content-type': 'application/x-www-form-urlencoded',
    });
    assert.deepEqual([form.status, form.body.error.code], [400, 'invalid_input']);
    assert.equal((await service.listKeys()).length, 1);
  });

  test('refuses a method that no route has, whatever it is, before it looks at the body', async (t) => {
    const { port, send } = await adminPort(t);
    for (const method of ['QUERY', 'PROPFIND', 'PURGE', 'M-SEARCH', 'LOCK', 'OPTIONS', 'TRACE']) {
      for (const [path, status, allow] of [
        ['/admin/v1/keys', 405, 'POST, GET'],
        ['/healthz', 405, 'GET, HEAD'],
        ['/admin/nowhere', 404, undefined],
        ['/nowhere', 404, undefined],
      ] as const) {
        const bodies = method === 'TRACE' ? [{}] : [{}, { 'content-type': 'text/plain', 'content-length': '3' }];
        for (const headers of bodies) {
          const body = 'content-length' in headers ? 'a=b' : undefined;
          const answer = await send(method, path, body, headers);
          assert.deepEqual([answer.status, answer.headers.allow], [status, allow], `${method} ${path}`);
          assert.equal(answer.body.error.request_id, answer.headers['x-request-id']);
        }
      }
      const unknown = await answered(port, method, '/admin/v1/keys', undefined, { authorization: '' });
      assert.equal(unknown.status, 401, method);
    }
  });

  test('tells a failed store as 503', async (t) => {
    const { send, ledger } = await adminPort(t);
    await ledger.close();
    const { status, headers, body } = await send('GET', '/admin/v1/keys');
    assert.deepEqual([status, body.error.code, headers['retry-after']], [503, 'unavailable', '1']);
    assert.equal(body.error.message, 'the store failed, or does not answer: ask again later');
    const change = await send('POST', '/admin/v1/keys', { mode: 'credit', credit: '1' });
    assert.equal(change.status, 503);
    assert.match(change.body.error.message, /result of this operation is unknown: check it/);
  });

  test('gives bytes that are no HTTP a 400 with a request id', async (t) => {
    const { port } = await adminPort(t);
    const socket = connect(port, '127.0.0.1');
    socket.end('this is not http\r\n\r\n');
    let text = '';
    for await (const chunk of socket.setEncoding('utf8')) text += chunk;
    assert.match(text, /^HTTP\/1\.1 400 .*\r\nx-request-id: \S+\r\n/);
  });
});
