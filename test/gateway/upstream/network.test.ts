/** Providers behind proxies, with certificates, or over HTTP/2, as a gateway meets them. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ConfigError } from '../../../src/config/problem.ts';
import type { Log } from '../../../src/core/log.ts';
import { type Certificate, certificateOf, certificateOfLocalhost } from '../../support/certificate.ts';
import { ConnectProxy } from '../../support/connect-proxy.ts';
import {
  ask,
  assertUncharged,
  configText,
  errorOf,
  scriptedGateway,
  settled,
  streamed,
} from '../../support/scripted-gateway.ts';
import { type StartedGateway, startedGateway } from '../../support/started-gateway.ts';
import { SPEECH, spoken, UPSTREAM_MODEL } from '../../support/upstreams/spoken.ts';

/** What the gateway logs, line by line. */
class Lines implements Log {
  readonly lines: string[] = [];
  readonly #watchers = new Set<() => void>();

  debug(): void {}
  access(): void {}
  info(_fields: object, message: string): void {
    this.#add(message);
  }
  warn(_fields: object, message: string): void {
    this.#add(message);
  }
  error(_fields: object, message: string): void {
    this.#add(message);
  }

  /** The line that fits, or the `nth` of them. */
  until(wanted: RegExp, nth = 1): Promise<string> {
    return new Promise((resolve) => {
      const watch = (): void => {
        const line = this.lines.filter((one) => wanted.test(one))[nth - 1];
        if (line === undefined) return;
        this.#watchers.delete(watch);
        resolve(line);
      };
      this.#watchers.add(watch);
      watch();
    });
  }

  #add(message: string): void {
    this.lines.push(message);
    for (const watcher of [...this.#watchers]) watcher();
  }
}

/** A real HTTPS server for HTTP/1.1 and HTTP/2 whose answers are functions. */
class SecureProvider implements AsyncDisposable {
  answer: (request: Http2ServerRequest, response: Http2ServerResponse) => void = (_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(SPEECH.chat.whole('Hi')));
  };
  readonly versions: string[] = [];
  readonly #server;

  private constructor(certificate: Certificate, clients: string | null) {
    const mutual = clients === null ? {} : { requestCert: true, rejectUnauthorized: true, ca: clients };
    this.#server = createSecureServer({ ...certificate, ...mutual, allowHTTP1: true }, (request, response) => {
      request.resume();
      request.on('end', () => {
        this.versions.push(request.httpVersion);
        this.answer(request, response);
      });
    });
  }

  static async start(certificate: Certificate, clients: string | null = null): Promise<SecureProvider> {
    const provider = new SecureProvider(certificate, clients);
    provider.#server.listen(0, '127.0.0.1');
    await once(provider.#server, 'listening');
    return provider;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
  }
}

/** A folder with the files that configurations name. */
class Folder implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async make(files: Readonly<Record<string, string>>): Promise<Folder> {
    const folder = new Folder(await mkdtemp(join(tmpdir(), 'gateway-network-')));
    for (const [name, text] of Object.entries(files)) await writeFile(folder.file(name), text);
    return folder;
  }

  file(name: string): string {
    return join(this.path, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}

function config(provider: object): string {
  return configText({
    providers: { one: { kind: 'openai', api_key: 'sk-one', formats: ['chat'], ...provider } },
    targets: [{ provider: 'one', model: UPSTREAM_MODEL }],
    routing: { max_attempts: 1 },
  });
}

function started(provider: object, env: Record<string, string> = {}, log?: Log): Promise<StartedGateway> {
  return startedGateway({ config: config(provider), env, ...(log ? { log } : {}) });
}

describe('a proxy', () => {
  const certificate = certificateOf('provider.test');

  test('carries whole answers and streams, as the file or the environment says', async () => {
    await using folder = await Folder.make({ 'ca.pem': certificate.cert });
    await using provider = await SecureProvider.start(certificate);
    await using proxy = await ConnectProxy.start({ port: provider.port, credentials: 'me:secret' });
    const address = { base_url: 'https://provider.test/v1', ca: folder.file('ca.pem') };
    for (const [named, env] of [
      [{ proxy: proxy.url() }, {}],
      [{}, { HTTPS_PROXY: proxy.url() }],
      [{}, { https_proxy: proxy.url(), HTTPS_PROXY: 'http://127.0.0.1:9' }],
    ] as const) {
      const asked = proxy.asked.length;
      await using gateway = await started({ ...address, ...named }, env);
      const key = await gateway.tokenKey();
      assert.equal((await ask(key, 'chat')).status, 200);
      provider.answer = (_request, response) => {
        response.setHeader('content-type', 'text/event-stream');
        for (const frame of spoken('chat', 'streamed')) response.write(frame);
        response.end();
      };
      const { text } = await streamed(key, 'chat').ended;
      assert.match(text, SPEECH.chat.terminal);
      assert.equal((await settled(gateway, key)).requests, 2);
      assert.ok(proxy.asked.length > asked);
      provider.answer = (_request, response) => {
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify(SPEECH.chat.whole('Hi')));
      };
    }
  });

  test('that refuses: 502, nothing charged, and a line for the operator that names it without its password', async () => {
    await using folder = await Folder.make({ 'ca.pem': certificate.cert });
    await using provider = await SecureProvider.start(certificate);
    await using proxy = await ConnectProxy.start({ port: provider.port, credentials: 'me:secret' });
    const log = new Lines();
    const address = { base_url: 'https://provider.test/v1', ca: folder.file('ca.pem') };
    await using gateway = await started({ ...address, proxy: proxy.url('me:forgotten') }, {}, log);
    const key = await gateway.tokenKey();
    const { status, code, message } = errorOf(await ask(key, 'chat'));
    assert.deepEqual([status, code], [502, 'provider_unavailable']);
    assert.doesNotMatch(message, /127\.0\.0\.1|forgotten/, 'the client learns nothing of the network');
    const line = await log.until(/proxy/);
    assert.match(line, /look at the configuration of this provider/);
    assert.ok(line.includes(`the proxy http://${proxy.host} answered with status 407`), line);
    assert.ok(!log.lines.some((one) => one.includes('forgotten')));
    await assertUncharged(gateway, key);
    assert.equal(provider.versions.length, 0);
  });

  test('is never asked for an address of this machine, nor for one that NO_PROXY names', async () => {
    await using scripted = await scriptedGateway({ provider: { proxy: 'http://127.0.0.1:9' } });
    scripted.first.answer = (call) => call.reply(200, SPEECH.chat.whole('Hi'));
    const key = await scripted.gateway.tokenKey();
    assert.equal((await ask(key, 'chat')).status, 200);
    const proxied = { HTTP_PROXY: 'http://127.0.0.1:9', HTTPS_PROXY: 'http://127.0.0.1:9' };
    await using gateway = await started({ base_url: `http://localhost:${scripted.first.port}/v1` }, proxied);
    assert.equal((await ask(await gateway.tokenKey(), 'chat')).status, 200);
    const log = new Lines();
    // However long the resolver takes to say no.
    const elsewhere = { base_url: 'http://name.invalid/v1', timeouts: { connect: 300 } };
    await using excepted = await started(elsewhere, { ...proxied, NO_PROXY: 'other, .invalid' }, log);
    assert.equal((await ask(await excepted.tokenKey(), 'chat')).status, 502);
    const line = await log.until(/cannot be reached/);
    assert.match(line, /ENOTFOUND|EAI_AGAIN/, 'its own name was looked up');
  });
});

describe('certificates and HTTP/2', () => {
  const server = certificateOfLocalhost();
  const client = certificateOf('gateway');
  const stranger = certificateOf('gateway');

  test('a provider with an authority of its own, that wants a certificate and speaks HTTP/2', async () => {
    const files = { 'ca.pem': server.cert, 'client.pem': client.cert, 'client-key.pem': client.key };
    await using folder = await Folder.make(files);
    await using provider = await SecureProvider.start(server, client.cert);
    const base = { base_url: `https://localhost:${provider.port}/v1`, ca: folder.file('ca.pem') };
    const identity = { client_cert: folder.file('client.pem'), client_key: folder.file('client-key.pem') };
    for (const [http2, version] of [
      [false, '1.1'],
      [true, '2.0'],
    ] as const) {
      await using gateway = await started({ ...base, ...identity, http2 });
      const key = await gateway.tokenKey();
      assert.equal((await ask(key, 'chat')).status, 200);
      assert.equal(provider.versions.at(-1), version);
      assert.equal((await settled(gateway, key)).requests, 1);
    }
    await using unknown = await started(base);
    const key = await unknown.tokenKey();
    assert.equal((await ask(key, 'chat')).status, 502);
    await assertUncharged(unknown, key);
  });

  test('a stream that an HTTP/2 provider resets midway is not taken for complete, nor a whole answer', async () => {
    await using folder = await Folder.make({ 'ca.pem': server.cert });
    await using provider = await SecureProvider.start(server);
    const base = { base_url: `https://localhost:${provider.port}/v1`, ca: folder.file('ca.pem'), http2: true };
    await using gateway = await started(base);
    const key = await gateway.tokenKey();
    let begun: Http2ServerResponse | null = null;
    provider.answer = (_request, response) => {
      begun = response;
      response.setHeader('content-type', 'text/event-stream');
      response.write(SPEECH.chat.opening.join('') + SPEECH.chat.text('half'));
    };
    const stream = streamed(key, 'chat');
    await stream.until(/half/);
    (begun as Http2ServerResponse | null)?.stream.close(2);
    const { text } = await stream.ended;
    assert.match(text, SPEECH.chat.inBandFailure);
    assert.doesNotMatch(text, SPEECH.chat.terminal);
    provider.answer = (_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.write(JSON.stringify(SPEECH.chat.whole('half')).slice(0, -10), () => response.stream.close(2));
    };
    assert.equal((await ask(key, 'chat')).status, 502);
    assert.equal((await settled(gateway, key)).requests, 1, 'only what the client has seen of the stream');
  });

  const wrong: readonly (readonly [string, object, RegExp])[] = [
    ['an authority that is not there', { ca: 'no.pem' }, /providers\.one\.ca: \S*no\.pem does not exist$/],
    [
      'an authority that is none',
      { ca: 'noise.pem' },
      /providers\.one\.ca: \S*noise\.pem has no certificate in PEM format$/,
    ],
    ['an authority that is a folder', { ca: '.' }, /providers\.one\.ca: \S* cannot be read \(EISDIR\)$/],
    [
      'a certificate without its key',
      { client_cert: 'client.pem' },
      /providers\.one\.client_cert: needs client_key beside it$/,
    ],
    [
      'a key of another certificate',
      { client_cert: 'client.pem', client_key: 'stranger-key.pem' },
      /providers\.one\.client_key: \S*stranger-key\.pem is not the private key of the certificate in \S*client\.pem$/,
    ],
    [
      'a key that is none',
      { client_cert: 'client.pem', client_key: 'noise.pem' },
      /providers\.one\.client_key: \S*noise\.pem has no private key in PEM format$/,
    ],
    [
      'a certificate that is none',
      { client_cert: 'noise.pem', client_key: 'client-key.pem' },
      /providers\.one\.client_cert: \S*noise\.pem has no certificate in PEM format$/,
    ],
  ];
  for (const [what, fields, line] of wrong) {
    test(`[F36] ${what} stops a start with one line`, async () => {
      await using folder = await Folder.make({
        'noise.pem': 'noise',
        'client.pem': client.cert,
        'client-key.pem': client.key,
        'stranger-key.pem': stranger.key,
      });
      const files = Object.fromEntries(Object.entries(fields).map(([key, name]) => [key, folder.file(String(name))]));
      await assert.rejects(started({ base_url: 'https://localhost/v1', ...files }), (error: unknown) => {
        assert.ok(error instanceof ConfigError);
        assert.equal(error.problems.length, 1);
        assert.match(error.problems[0] ?? '', line);
        return true;
      });
    });
  }

  test('[F36] files that change are taken into use; broken ones are a line in the log, and what was in use stays', async () => {
    const next = certificateOfLocalhost();
    await using folder = await Folder.make({ 'ca.pem': server.cert });
    await using provider = await SecureProvider.start(server);
    await using renewed = await SecureProvider.start(next);
    const log = new Lines();
    const base = { base_url: `https://localhost:${provider.port}/v1`, ca: folder.file('ca.pem') };
    await using gateway = await started(base, {}, log);
    const key = await gateway.tokenKey();
    assert.equal((await ask(key, 'chat')).status, 200);
    await writeFile(folder.file('ca.pem'), 'noise');
    const line = await log.until(/the new configuration is invalid/);
    assert.match(line, /providers\.one\.ca: \S*ca\.pem has no certificate in PEM format/);
    assert.equal((await ask(key, 'chat')).status, 200);
    await writeFile(folder.file('ca.pem'), next.cert);
    await log.until(/the configuration was reloaded/);
    assert.equal((await ask(key, 'chat')).status, 502, 'its certificate is of an authority that is no longer trusted');
    await writeFile(
      join(gateway.dataDir, 'gateway.yaml'),
      config({ ...base, base_url: `https://localhost:${renewed.port}/v1` }),
    );
    await log.until(/was reloaded/, 2);
    assert.equal((await ask(key, 'chat')).status, 200);
  });
});
