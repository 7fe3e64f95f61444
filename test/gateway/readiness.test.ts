/** What load balancers and supervisors are told by a gateway that runs, and by one that drains. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { CreatedKey } from '../../src/admin/keys/schema.ts';
import { socketPath } from '../../src/admin/socket.ts';
import { type GatewayProcess, gatewayProcess } from '../support/gateway-process.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { startedGateway } from '../support/started-gateway.ts';
import { type Gated, gatedUpstream } from '../support/upstreams/gated.ts';
import { RawPeer } from '../unit/transport/server/fixture.ts';

/** Several workers need it. */
let postgres: TestPostgres;
before(async () => {
  postgres = await startPostgres();
});
after(() => postgres.stop());

function streamed(key: CreatedKey): string {
  const body = JSON.stringify({ model: 'gated/one', stream: true, messages: [{ role: 'user', content: 'Hello' }] });
  return `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nauthorization: Bearer ${key.key}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`;

test('[F9] a gateway is not ready while it drains, and alive until it has ended', async () => {
  // No part of this test takes that long, and the drain must not end before it.
  await using upstream = await gatedUpstream({ drain: 600 });
  await using gateway = await startedGateway({ config: upstream.config });
  const key = await gateway.creditKey();
  const { port } = new URL(gateway.origin);
  const peers: RawPeer[] = [];
  const calls: Gated[] = [];
  // What is asked behind a running stream is answered after it: by then the drain has begun.
  for (const behind of [get('/readyz'), get('/healthz'), '']) {
    const peer = await RawPeer.connect(Number(port));
    peer.send(streamed(key) + behind);
    const call = await upstream.next();
    call.begin();
    await peer.until(/"Let"/);
    peers.push(peer);
    calls.push(call);
  }
  const [asksReadiness, asksLiveness, holdsTheDrain] = peers;
  const ended = gateway.stop();
  calls[0]?.finish();
  calls[1]?.finish();
  const readiness = await asksReadiness?.untilEnd();
  assert.match(readiness ?? '', /\[DONE\][\s\S]*HTTP\/1\.1 503 [\s\S]*"code":"service_unavailable"/);
  const liveness = await asksLiveness?.untilEnd();
  assert.match(liveness ?? '', /\[DONE\][\s\S]*HTTP\/1\.1 200 [\s\S]*\{"status":"ok"\}/);
  calls[2]?.finish();
  assert.match((await holdsTheDrain?.untilEnd()) ?? '', /\[DONE\]/);
  await ended;
});

/** A gateway as a process, which waits that many seconds for load balancers. */
async function stoppable(t: TestContext, preStopSeconds: number, ...flags: string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-pre-stop-'));
  await writeFile(join(folder, 'gateway.yaml'), `limits: { pre_stop: ${preStopSeconds} }`);
  const env = flags.length === 0 ? {} : { DATABASE_URL: postgres.url(await postgres.createDatabase()) };
  const gateway = await gatewayProcess(folder, env, flags);
  t.after(async () => {
    await gateway.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });
  const onPublic = async (path: string): Promise<number> => {
    const response = await fetch(gateway.origin + path, { headers: { connection: 'close' } });
    await response.arrayBuffer();
    return response.status;
  };
  const onAdmin = (path: string): Promise<number> =>
    new Promise((resolve, reject) => {
      httpRequest({ socketPath: socketPath(folder), path, agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      })
        .on('error', reject)
        .end();
    });
  return { gateway, onPublic, onAdmin };
}

async function ended({ child }: GatewayProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await new Promise((resolve) => child.once('exit', resolve));
  return child.exitCode;
}

describe('a stop', () => {
  for (const flags of [[], ['--workers', '2']]) {
    test(`[F9] by SIGTERM: not ready first, on both listeners, while new requests are served ${flags.join(' ')}`, async (t) => {
      const { gateway, onPublic, onAdmin } = await stoppable(t, 600, ...flags);
      for (const ask of [onPublic, onAdmin]) {
        assert.deepEqual([await ask('/healthz'), await ask('/readyz')], [200, 200]);
      }
      gateway.child.kill('SIGTERM');
      while ((await onPublic('/readyz')) !== 503 || (await onAdmin('/readyz')) !== 503);
      for (const ask of [onPublic, onAdmin]) assert.equal(await ask('/healthz'), 200);
      assert.equal(await onPublic('/v1/models'), 200);
      // The second signal means: now.
      gateway.child.kill('SIGTERM');
      assert.equal(await ended(gateway), 143);
    });

    test(`[F9] ends by itself when limits.pre_stop is over ${flags.join(' ')}`, async (t) => {
      const { gateway } = await stoppable(t, 0.1, ...flags);
      gateway.child.kill('SIGTERM');
      assert.equal(await ended(gateway), 0);
    });
  }

  test('[F9] by SIGINT waits for no load balancer', async (t) => {
    const { gateway } = await stoppable(t, 600);
    gateway.child.kill('SIGINT');
    assert.equal(await ended(gateway), 0);
  });
});
