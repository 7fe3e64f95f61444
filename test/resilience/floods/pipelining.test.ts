/** Pipelined requests of clients without a credential, against a gateway with little memory. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { gatewayProcess } from '../../support/gateway-process.ts';
import { MEMORY_UNTOLD, resetPeak, residentMemory } from '../../support/resident-memory.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { RawPeer } from '../../unit/transport/server/fixture.ts';

const CONNECTIONS = 300;
const REQUEST = 'POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n';
/** 25 MB in all. */
const FLOOD = REQUEST.repeat(Math.ceil(25_000_000 / CONNECTIONS / REQUEST.length));
/** One, and those that may wait behind it. */
const ANSWERED_MAX = 17;
const GROWTH_BYTES_MAX = 100_000_000;

test('[F42] 25 MB of tiny pipelined requests over hundreds of connections: memory is bounded, others are served', {
  skip: MEMORY_UNTOLD,
}, async (t) => {
  const dataDir = temporaryFolder('gateway-pipelining');
  await writeFile(join(dataDir, 'gateway.yaml'), '');
  const gateway = await gatewayProcess(dataDir, {
    NODE_OPTIONS: '--max-old-space-size=512',
  });
  t.after(() => gateway.kill('SIGKILL'));
  const { key } = await gateway.admin.createKey({ mode: 'credit', credit: '5' });
  const port = Number(new URL(gateway.origin).port);
  const asked = `GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`;
  const bystander = await RawPeer.connect(port);
  const answer = async (): Promise<void> => {
    bystander.text = '';
    await bystander.send(asked).until(/^HTTP\/1\.1 200 OK\r\n[\s\S]*"object":"list"[\s\S]*\}$/);
  };
  await answer();
  const peers: RawPeer[] = [];
  t.after(() => {
    for (const { socket } of [...peers, bystander]) socket.destroy();
  });
  for (let i = 0; i < CONNECTIONS; i++) peers.push(await RawPeer.connect(port));
  const pid = gateway.child.pid ?? 0;
  resetPeak(pid);
  const { bytes } = residentMemory(pid);
  for (const peer of peers) peer.send(FLOOD);
  let open = peers.length;
  for (const peer of peers) {
    void peer.closed.then(() => {
      open -= 1;
    });
  }
  let answers = 0;
  while (open > 0) {
    await answer();
    answers += 1;
  }
  assert.ok(answers > 0);
  for (const { text } of peers) assert.ok(text.split('HTTP/1.1 401 ').length <= 1 + ANSWERED_MAX);
  const growth = residentMemory(pid).peakBytes - bytes;
  assert.ok(growth < GROWTH_BYTES_MAX, `${Math.round(growth / 1e6)} MB more than before`);
  t.diagnostic(`${answers} others answered, ${Math.round(growth / 1e6)} MB more than before`);
});
