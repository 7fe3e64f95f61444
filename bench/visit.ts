/** W1's requests for one peer with nothing pinned: what the benches beside the workloads compare gateways by. */
import { treeUse } from './cpu.ts';
import type { LoadClient } from './load-client.ts';
import type { RunningPeer } from './peer.ts';
import type { Placement } from './processes.ts';
import { expectedMarks, modelName, PATHS, type RequestShape, requestBody, terminalText } from './requests.ts';

export const SHAPE: RequestShape = {
  client: 'chat',
  native: 'chat',
  bodyBytes: 1_024,
  answer: { kind: 'whole', bytes: 1_024 },
};
export const UNPINNED: Placement = { pinned: false, note: 'nothing is pinned', prefix: () => [], fileLimit: 1_024 };

export interface VisitSize {
  readonly keys: number;
  readonly concurrency: number;
  readonly requests: number;
}

/** Throws where a request failed; what was answered is noted in the peer's books. */
export async function visit(load: LoadClient, peer: RunningPeer, { keys, concurrency, requests }: VisitSize) {
  const pid = peer.child?.pid ?? -1;
  const before = treeUse(pid).cpuNs;
  const result = await load.run({
    origin: peer.launch.origin,
    path: PATHS[SHAPE.client],
    headerSets: Array.from({ length: keys }, (_, key) => ({
      'content-type': 'application/json',
      ...peer.launch.headers(SHAPE, key),
    })),
    body: requestBody(SHAPE, modelName(SHAPE)),
    concurrency,
    requests,
    marks: expectedMarks(SHAPE.answer),
    terminal: terminalText(SHAPE),
    cutAfterMarks: null,
    idempotencyPrefix: null,
  });
  if (result.failed > 0) throw new Error(`${peer.name}: ${result.failures.join('; ')}`);
  peer.books?.record(SHAPE, result.completedBySet, result.failed);
  return {
    perSecond: (1_000 * requests) / result.durationMs,
    cpuUs: (treeUse(pid).cpuNs - before) / 1_000 / requests,
    latencyMs: result.latencyMs,
  };
}
