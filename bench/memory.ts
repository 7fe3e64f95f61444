/**
 * What a gateway takes after 100,000 requests (W1, 16 at once): `node bench/memory.ts [--requests N] [CHECKOUT…]`. Several checkouts
 * are measured one after the other; what each took of the CPU stands beside it.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { treeUse } from './cpu.ts';
import { LoadClient } from './load-client.ts';
import { type PeerContext, type RunningPeer, startPeer } from './peer.ts';
import { gateway, gatewayOfCheckout } from './peers/gateway.ts';
import { findPlacement, sleep } from './processes.ts';
import { expectedMarks, modelName, PATHS, type RequestShape, requestBody, terminalText } from './requests.ts';
import { footprintLine } from './targets.ts';
import { startUpstream } from './upstream-process.ts';

const SHAPE: RequestShape = {
  client: 'chat',
  native: 'chat',
  bodyBytes: 1_024,
  answer: { kind: 'whole', bytes: 1_024 },
};
const CONCURRENCY = 16;
const STEP = 10_000;
/** Until what was freed has been given back. */
const REST_MS = 10_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { requests: { type: 'string', default: '100000' } },
});
const requests = Number(values.requests);
const adapters =
  positionals.length === 0 ? [gateway] : positionals.flatMap((path) => gatewayOfCheckout(`gateway@${path}`) ?? []);

const placement = findPlacement();
const folder = mkdtempSync(join(tmpdir(), 'bench-memory-'));
const upstream = await startUpstream(placement);
const load = new LoadClient(placement);
const mb = (bytes: number): string => `${(bytes / 1_048_576).toFixed(0)} MB`;

async function measure(peer: RunningPeer, pid: number): Promise<string> {
  const before = treeUse(pid);
  const seen: number[] = [];
  for (let sent = 0; sent < requests; sent += STEP) {
    const result = await load.run({
      origin: peer.launch.origin,
      path: PATHS.chat,
      headerSets: [{ 'content-type': 'application/json', ...peer.launch.headers(SHAPE, 0) }],
      body: requestBody(SHAPE, modelName(SHAPE)),
      concurrency: CONCURRENCY,
      requests: Math.min(STEP, requests - sent),
      marks: expectedMarks(SHAPE.answer),
      terminal: terminalText(SHAPE),
      cutAfterMarks: null,
      idempotencyPrefix: null,
    });
    if (result.failed > 0) throw new Error(`${result.failed} requests failed: ${result.failures.join('; ')}`);
    seen.push(treeUse(pid).rssBytes);
  }
  const after = treeUse(pid);
  await sleep(REST_MS);
  const steps = seen.map((bytes) => (bytes / 1_048_576).toFixed(0)).join(' ');
  const cpuUs = (after.cpuNs - before.cpuNs) / 1_000 / requests;
  const target = footprintLine('busyMb', after.rssBytes / 1_048_576);
  return `${mb(before.rssBytes)} before, ${mb(after.rssBytes)} after ${requests} requests (${mb(Math.max(...seen))} at most: ${steps}), ${mb(treeUse(pid).rssBytes)} after a rest; ${cpuUs.toFixed(0)} µs of CPU per request\n${target}`;
}

try {
  for (const adapter of adapters) {
    // Without the module that tells the delay of its loop, which takes 10 MB itself: it is TypeScript.
    const plain = {
      ...adapter,
      launch: (context: PeerContext) => ({ ...adapter.launch(context), tellsLoopDelay: false }),
    };
    const peer = await startPeer(plain, placement, {
      upstreamOrigin: upstream.origin,
      tls: null,
      folder: mkdtempSync(join(folder, 'peer-')),
      shapes: [SHAPE],
      keys: 1,
    });
    try {
      process.stdout.write(`${adapter.name}: ${await measure(peer, peer.child?.pid ?? -1)}`);
    } finally {
      await peer.stop();
    }
  }
} finally {
  await Promise.all([load.stop(), upstream.child.stop()]);
  rmSync(folder, { recursive: true, force: true });
}
