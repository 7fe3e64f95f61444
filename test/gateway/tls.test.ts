/** A gateway with a certificate, used by the clients that people have: curl, Node's own, undici. */
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type ClientHttp2Session, connect, constants } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { Agent, fetch } from 'undici';
import type { CreatedKey } from '../../src/admin/keys/schema.ts';
import { ConfigError } from '../../src/config/problem.ts';
import { type Log, NO_LOG } from '../../src/core/log.ts';
import { certificateOfLocalhost } from '../support/certificate.ts';
import { gatewayProcess } from '../support/gateway-process.ts';
import { startPostgres } from '../support/postgres.ts';
import { accountWhen, auditClean } from '../support/requests.ts';
import { type StartedGateway, startedGateway } from '../support/started-gateway.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { type GatedUpstream, gatedUpstream } from '../support/upstreams/gated.ts';

const run = promisify(execFile);
const identity = certificateOfLocalhost();

/** Lines of the log; `until` waits for one. */
class Lines {
  readonly #lines: string[] = [];
  #wake = (): void => {};
  readonly log: Log;

  constructor() {
    const add = (_fields: object, message: string): void => {
      this.#lines.push(message);
      this.#wake();
    };
    this.log = { ...NO_LOG, info: add, warn: add, error: add };
  }

  async until(wanted: RegExp): Promise<string> {
    for (;;) {
      const line = this.#lines.find((candidate) => wanted.test(candidate));
      if (line !== undefined) return line;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

let folder: string;
let files: { cert: string; key: string };
let upstream: GatedUpstream;
let gateway: StartedGateway;
let key: CreatedKey;
const lines = new Lines();

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-tls-'));
  files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  await writeFile(files.cert, identity.cert);
  await writeFile(files.key, identity.key);
  upstream = await gatedUpstream();
  gateway = await startedGateway({
    config: `${upstream.config}tls: { cert: ${files.cert}, key: ${files.key} }\n`,
    log: lines.log,
    terminal: true,
  });
  key = await gateway.creditKey();
});

after(async () => {
  await auditClean(gateway);
  await gateway[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** The certificate is for `localhost`. */
function address(path: string): string {
  return `https://localhost:${new URL(gateway.origin).port}${path}`;
}

function body(model: string, stream: boolean): string {
  return JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'Hello' }] });
}

async function session(t: TestContext): Promise<ClientHttp2Session> {
  const client = connect(address(''), { ca: identity.cert, host: '127.0.0.1' });
  client.on('error', () => {});
  t.after(() => client.destroy());
  await once(client, 'connect');
  return client;
}

const HEADERS = { ':method': 'POST', ':path': '/v1/chat/completions', 'content-type': 'application/json' };

describe('a gateway with a certificate', () => {
  test('says https in what it prints and in the base URLs of its keys', () => {
    assert.match(gateway.origin, /^https:\/\/127\.0\.0\.1:\d+$/);
    assert.match(gateway.printed[0] ?? '', /listens on https:\/\/127\.0\.0\.1:\d+ /);
    assert.match(gateway.printed.join('\n'), /curl https:\/\//);
    // The operator's listener is another one.
    assert.doesNotMatch(gateway.printed.filter((line) => !line.includes('Console:')).join('\n'), /http:/);
    assert.equal(key.base_url, `${gateway.origin}/v1`);
  });

  test("serves Node's https client, whole and streamed", async () => {
    for (const stream of [false, true]) {
      const text = await new Promise<string>((resolve, reject) => {
        const request = httpsRequest(address('/v1/chat/completions'), {
          method: 'POST',
          ca: identity.cert,
          family: 4,
          headers: { authorization: `Bearer ${key.key}`, 'content-type': 'application/json' },
        });
        request.on('error', reject);
        request.on('response', async (response) => {
          assert.equal(response.statusCode, 200);
          assert.match(String(response.headers['x-request-id']), /^req_/);
          resolve(Buffer.concat((await response.toArray()) as Buffer[]).toString());
        });
        request.end(body('sandbox/alpha', stream));
      });
      assert.match(text, stream ? /data: \[DONE\]\n\n$/ : /"object":"chat\.completion"/);
    }
  });

  test('[R5] sends a key at the wrong origin to the https address that it was asked at, over HTTP/2 too', async (t) => {
    for (const allowH2 of [false, true]) {
      const dispatcher = new Agent({ allowH2, connect: { ca: identity.cert } });
      t.after(() => dispatcher.destroy());
      const response = await fetch(address('/token/v1/usage'), {
        dispatcher,
        headers: { authorization: `Bearer ${key.key}` },
      });
      assert.equal(response.status, 401);
      assert.ok((await response.text()).includes(` ${address('/v1')} `));
    }
  });

  test('serves fetch over HTTP/2', async (t) => {
    const dispatcher = new Agent({ allowH2: true, connect: { ca: identity.cert } });
    t.after(() => dispatcher.destroy());
    for (const stream of [false, true]) {
      const response = await fetch(address('/v1/chat/completions'), {
        dispatcher,
        method: 'POST',
        headers: { authorization: `Bearer ${key.key}`, 'content-type': 'application/json' },
        body: body('sandbox/alpha', stream),
      });
      assert.equal(response.status, 200);
      assert.match(await response.text(), stream ? /data: \[DONE\]\n\n$/ : /"object":"chat\.completion"/);
    }
  });

  test('serves curl over HTTP/2 and HTTP/1.1', { skip: curlProblem() }, async () => {
    for (const [flag, version] of [
      ['--http2', '2'],
      ['--http1.1', '1.1'],
    ] as const) {
      const { port } = new URL(gateway.origin);
      const { stdout } = await run('curl', [
        ...['-sS', flag, '--cacert', files.cert, '--resolve', `localhost:${port}:127.0.0.1`],
        ...['-H', `Authorization: Bearer ${key.key}`, '-H', 'Content-Type: application/json'],
        ...['-d', body('sandbox/alpha', true), '-w', '\nHTTP/%{http_version} %{http_code}'],
        address('/v1/chat/completions'),
      ]);
      assert.match(stdout, new RegExp(`data: \\[DONE\\]\\n\\n\\nHTTP/${version} 200$`));
    }
  });

  test('[F13] [R49] a stream that its client resets closes the provider, and the connection goes on', async (t) => {
    const own = await gateway.creditKey();
    const client = await session(t);
    const headers = { ...HEADERS, authorization: `Bearer ${own.key}` };
    const stream = client.request(headers);
    stream.on('error', () => {});
    stream.end(body('gated/one', true));
    const call = await upstream.next();
    call.begin();
    await once(stream, 'data');
    stream.close(constants.NGHTTP2_CANCEL);
    await call.closed;
    const { used } = await accountWhen(gateway, own, ({ live_holds }) => live_holds === 0);
    assert.ok(used > 0, 'what was produced is charged');
    const next = client.request(headers);
    next.end(body('gated/one', false));
    (await upstream.next()).answer();
    const [answer] = (await once(next, 'response')) as [Record<string, unknown>];
    assert.equal(answer[':status'], 200);
    next.resume();
    await once(next, 'end');
  });

  test('refuses over HTTP/2 as over HTTP/1.1: an error envelope with a request id', async (t) => {
    const client = await session(t);
    const stream = client.request({ ...HEADERS, ':path': '/v1/#x' });
    stream.end('{}');
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
    assert.equal(headers[':status'], 400);
    let text = '';
    for await (const piece of stream) text += piece;
    const { error } = JSON.parse(text) as { error: { code: string; request_id: string } };
    assert.deepEqual([error.code, error.request_id], ['invalid_request', headers['x-request-id']]);
  });

  test('[F36] uses files that changed for new connections; broken ones are a line in the log', async (t) => {
    const reach = async (cert: string): Promise<boolean> => {
      const dispatcher = new Agent({ connect: { ca: cert } });
      t.after(() => dispatcher.destroy());
      return fetch(address('/healthz'), { dispatcher }).then(
        (response) => response.ok,
        () => false,
      );
    };
    await writeFile(files.cert, 'broken');
    const line = await lines.until(/not reloaded/);
    assert.equal(
      line,
      `the TLS certificate was not reloaded, the old one stays in use: ${files.cert}: has no certificate in PEM format`,
    );
    assert.equal(await reach(identity.cert), true);
    const renewed = certificateOfLocalhost();
    await writeFile(files.key, renewed.key);
    await writeFile(files.cert, renewed.cert);
    await lines.until(/was reloaded/);
    assert.equal(await reach(renewed.cert), true);
    assert.equal(await reach(identity.cert), false);
  });
});

describe('a start', () => {
  test('with a certificate that cannot be used is one line that names the file', async () => {
    const missing = join(folder, 'missing.pem');
    const config = `tls: { cert: ${missing}, key: ${files.key} }\n`;
    await assert.rejects(startedGateway({ config }), (error: unknown) => {
      assert.ok(error instanceof ConfigError);
      assert.deepEqual(error.problems, [`${missing}: does not exist`]);
      return true;
    });
  });

  test('of several workers serves TLS in each, with the certificate from the environment', async (t) => {
    const dataDir = temporaryFolder('gateway-tls');
    const own = certificateOfLocalhost();
    const [cert, ownKey] = [join(dataDir, 'cert.pem'), join(dataDir, 'key.pem')];
    await writeFile(cert, own.cert);
    await writeFile(ownKey, own.key);
    await writeFile(join(dataDir, 'gateway.yaml'), '');
    await using postgres = await startPostgres();
    const DATABASE_URL = postgres.url(await postgres.createDatabase());
    const env = { DATABASE_URL, GATEWAY_TLS_CERT: cert, GATEWAY_TLS_KEY: ownKey };
    const started = await gatewayProcess(dataDir, env, ['--workers', '2']);
    await using _ = { [Symbol.asyncDispose]: () => started.kill('SIGKILL') };
    assert.match(started.origin, /^https:/);
    const dispatcher = new Agent({ allowH2: true, connect: { ca: own.cert } });
    t.after(() => dispatcher.destroy());
    const response = await fetch(`https://localhost:${new URL(started.origin).port}/healthz`, { dispatcher });
    assert.equal(response.status, 200);
  });
});

function curlProblem(): string | false {
  try {
    return execFileSync('curl', ['--version'], { encoding: 'utf8' }).includes('HTTP2') ? false : 'curl without HTTP/2';
  } catch {
    return 'there is no curl';
  }
}
