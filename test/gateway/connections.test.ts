/** More connections than the process may have files: a clear refusal, and whoever was accepted is served. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { gatewayProcess } from '../support/gateway-process.ts';
import { readError } from '../support/requests.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { RawPeer } from '../unit/transport/server/fixture.ts';

const FILES = 192;
/** Half of what is left after 64 for the gateway itself, less 32 for refusals. */
const CONNECTIONS = 32;
const MORE = 200;

test('[F32] a process with few files refuses connections beyond half of them, and serves the others', {
  skip: process.platform !== 'linux' && 'only Linux tells the limit',
}, async (t) => {
  const dataDir = temporaryFolder('gateway-files');
  await writeFile(join(dataDir, 'gateway.yaml'), '');
  // Connections of a proxy are not closed for others while they have no request.
  const env = { GATEWAY_TRUSTED_PROXIES: 'loopback' };
  const gateway = await gatewayProcess(dataDir, env, [], FILES);
  t.after(() => gateway.kill('SIGKILL'));
  const { key } = await gateway.admin.createKey({ mode: 'credit', credit: '5' });
  const { port } = new URL(gateway.origin);
  const peers: RawPeer[] = [];
  t.after(() => {
    for (const peer of peers) peer.socket.destroy();
  });
  const health = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';
  for (let i = 0; i < CONNECTIONS; i++) {
    const peer = await RawPeer.connect(Number(port));
    peers.push(peer);
    await peer.send(health).until(/\{"status":"ok"\}$/);
  }
  const refused = await RawPeer.connect(Number(port));
  const [head = '', text = ''] = (await refused.send(health).untilEnd()).split('\r\n\r\n');
  const [status = '', ...lines] = head.split('\r\n');
  const headers = new Headers(lines.map((line) => line.split(': ') as [string, string]));
  const error = readError(Number(status.split(' ')[1]), headers, text, 'A');
  assert.deepEqual([error.status, error.code, headers.get('connection')], [503, 'service_unavailable', 'close']);
  assert.match(error.message, /as many connections as it can serve/);
  // Far more than there are files; most are closed at once.
  const flood = Array.from({ length: MORE }, () => RawPeer.connect(Number(port)).catch(() => null));
  peers.push(...(await Promise.all(flood)).filter((peer) => peer !== null));
  const message = { role: 'user', content: 'Hello' };
  const body = JSON.stringify({ model: 'sandbox/alpha', max_tokens: 100, messages: [message] });
  const request =
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const served = peers.slice(0, CONNECTIONS);
  for (const peer of served) peer.text = '';
  for (const peer of served) peer.send(request);
  for (const peer of served) await peer.until(/^HTTP\/1\.1 200 OK\r\n[\s\S]*"object":"chat\.completion"/);
  await gateway.until(/connections were refused: as many are open as can be served/);
  assert.doesNotMatch(gateway.output(), /EMFILE/);
});
