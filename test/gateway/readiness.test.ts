/** What load balancers and supervisors are told by a gateway that runs, and by one that drains. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CreatedKey } from '../../src/admin/api.ts';
import { startedGateway } from '../support/started-gateway.ts';
import { type Gated, gatedUpstream } from '../support/upstreams/gated.ts';
import { RawPeer } from '../unit/transport/server/fixture.ts';

function streamed(key: CreatedKey): string {
  const body = JSON.stringify({ model: 'gated/one', stream: true, messages: [{ role: 'user', content: 'Hello' }] });
  return `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nauthorization: Bearer ${key.key}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`;

test('[F9] a gateway is not ready while it drains, and alive until it has ended', async () => {
  await using upstream = await gatedUpstream();
  // No part of this test takes that long, and the drain must not end before it.
  await using gateway = await startedGateway({ config: upstream.config.replace('drain: 1 ', 'drain: 60 ') });
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
