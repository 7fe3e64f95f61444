/**
 * Two workers against one, on PostgreSQL: `node bench/workers.ts [ROUNDS]`. W1's requests, 64 at once, in interleaved rounds, nothing
 * pinned. Throughput can only grow where cores are free: each worker wants one, and so do PostgreSQL,
 * the load generator and the upstream. With fewer cores the figure that still means something is CPU per request: what
 * a second worker adds to it is lost on a larger machine as well.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { LoadClient } from './load-client.ts';
import { type Adapter, type RunningPeer, startPeer } from './peer.ts';
import { gatewayOnPostgres } from './peers/gateway.ts';
import { type Interval, median, pairedRatio } from './stats.ts';
import { startUpstream } from './upstream-process.ts';
import { SHAPE, UNPINNED, visit } from './visit.ts';

const CONCURRENCY = 64;
const REQUESTS = 2_000;
/** Each worker compiles the code for itself, which takes some tens of thousands of requests. */
const WARM_UP_REQUESTS = 40_000;
const KEYS = 8;
const WORKERS = [1, 2] as const;
/** Two workers, PostgreSQL, the load generator and the upstream. */
const CORES_WANTED = 5;
const TARGET = 1.7;

interface Figures {
  readonly perSecond: Map<number, number>;
  readonly cpuUs: Map<number, number>;
}

function withWorkers(workers: number): Adapter {
  return {
    ...gatewayOnPostgres,
    name: `${workers} worker(s)`,
    launch: (context) => {
      const launch = gatewayOnPostgres.launch(context);
      return { ...launch, args: [...launch.args, '--workers', String(workers)] };
    },
  };
}

const rounds = Number(process.argv[2] ?? 8);
const folder = mkdtempSync(join(tmpdir(), 'bench-workers-'));
const upstream = await startUpstream(UNPINNED);
const load = new LoadClient(UNPINNED);
const peers: RunningPeer[] = [];
try {
  for (const workers of WORKERS) {
    const context = { upstreamOrigin: upstream.origin, tls: null, folder: join(folder, String(workers)) };
    peers.push(await startPeer(withWorkers(workers), UNPINNED, { ...context, shapes: [SHAPE], keys: KEYS }));
  }
  const figures = peers.map((): Figures => ({ perSecond: new Map(), cpuUs: new Map() }));
  for (const peer of peers)
    await visit(load, peer, { keys: KEYS, concurrency: CONCURRENCY, requests: WARM_UP_REQUESTS });
  for (let round = 0; round < rounds; round++) {
    const order = [...peers.entries()];
    for (const [index, peer] of round % 2 === 0 ? order : order.toReversed()) {
      const seen = await visit(load, peer, { keys: KEYS, concurrency: CONCURRENCY, requests: REQUESTS });
      figures[index]?.perSecond.set(round, seen.perSecond);
      figures[index]?.cpuUs.set(round, seen.cpuUs);
    }
  }
  report(figures);
  for (const peer of peers) {
    const { findings } = (await peer.books?.check()) ?? { findings: ['no books'] };
    process.stdout.write(`${peer.name}: ${findings.length === 0 ? 'audit clean' : findings.join('; ')}\n`);
    if (findings.length > 0) process.exitCode = 1;
  }
} finally {
  await Promise.all([...peers.map((peer) => peer.stop()), load.stop(), upstream.child.stop()]);
  rmSync(folder, { recursive: true, force: true });
}

function report(figures: readonly Figures[]): void {
  const [one, two] = figures;
  if (!one || !two) return;
  for (const [index, { perSecond, cpuUs }] of figures.entries()) {
    process.stdout.write(
      `${WORKERS[index]} worker(s): ${median([...perSecond.values()]).toFixed(0)} requests/s, ${median([...cpuUs.values()]).toFixed(0)} µs of CPU per request\n`,
    );
  }
  const throughput = pairedRatio(two.perSecond, one.perSecond);
  const cpu = pairedRatio(two.cpuUs, one.cpuUs);
  if (!throughput || !cpu) return;
  const show = ({ median: middle, low, high }: Interval): string =>
    `${middle.toFixed(2)} (${low.toFixed(2)}–${high.toFixed(2)})`;
  process.stdout.write(`two against one: throughput × ${show(throughput)}, CPU per request × ${show(cpu)}\n`);
  const cores = availableParallelism();
  process.stdout.write(
    cores < CORES_WANTED
      ? `This machine has ${cores} cores, which load, upstream and ledger share with the workers: throughput × ${TARGET} cannot show here.\n`
      : `Target: throughput × ${TARGET} or more: ${throughput.median >= TARGET ? 'reached' : 'NOT reached'}.\n`,
  );
}
