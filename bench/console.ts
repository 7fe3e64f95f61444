/**
 * `node bench/console.ts [ROUNDS]`: W1's requests beside a console that is open, against the same without one, and against a
 * second gateway without one, whose difference is the noise of the run. The page is its requests, as a browser makes them:
 * the overview opens and is renewed, and a second tab has the live view of the requests.
 *
 * `node bench/console.ts --grown`: how long the overview takes on the books of a month (10 million usage records, 100,000 keys
 * in 1,000 accounts), in each of its groupings, while W1's requests are served. The books are made once, in a few minutes
 * and some gigabytes of the temporary folder.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { OpenConsole } from './console-page.ts';
import { daysAgoMs, GROWN_DAYS } from './grown-ledger.ts';
import { LoadClient } from './load-client.ts';
import { type Adapter, type RunningPeer, startPeer } from './peer.ts';
import { gateway, onGrownBooks } from './peers/gateway.ts';
import { table } from './report.ts';
import { type Interval, median, pairedRatio } from './stats.ts';
import { startUpstream } from './upstream-process.ts';
import { SHAPE, UNPINNED, visit } from './visit.ts';

const CONCURRENCY = 16;
const REQUESTS = 4_000;
const WARM_UP_REQUESTS = 12_000;
const WITHOUT = 'no console';
const AGAIN = 'no console again';
const WITH = 'console open';
const RUNS = 3;

interface Figures {
  readonly cpuUs: Map<number, number>;
  readonly p50Ms: Map<number, number>;
  readonly p99Ms: Map<number, number>;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { grown: { type: 'boolean', default: false } },
});
const folder = mkdtempSync(join(tmpdir(), 'bench-console-'));
const upstream = await startUpstream(UNPINNED);
const load = new LoadClient(UNPINNED);
const peers: RunningPeer[] = [];
try {
  if (values.grown) await timeOverviews();
  else await compareRounds(Number(positionals[0] ?? 8));
} finally {
  await Promise.all([...peers.map((peer) => peer.stop()), load.stop(), upstream.child.stop()]);
  rmSync(folder, { recursive: true, force: true });
}

async function start(adapter: Adapter): Promise<RunningPeer> {
  const context = { upstreamOrigin: upstream.origin, tls: null, folder: mkdtempSync(join(folder, 'peer-')) };
  const peer = await startPeer(adapter, UNPINNED, { ...context, shapes: [SHAPE], keys: 1 });
  peers.push(peer);
  return peer;
}

function visited(peer: RunningPeer, requests: number) {
  return visit(load, peer, { keys: 1, concurrency: CONCURRENCY, requests });
}

async function compareRounds(rounds: number): Promise<void> {
  for (const name of [WITHOUT, AGAIN, WITH]) await start({ ...gateway, name });
  const figures = new Map(
    peers.map(({ name }): [string, Figures] => [name, { cpuUs: new Map(), p50Ms: new Map(), p99Ms: new Map() }]),
  );
  for (const peer of peers) await visited(peer, WARM_UP_REQUESTS);
  const page = await OpenConsole.at(peers.find(({ name }) => name === WITH)?.launch.env ?? {});
  await page.follow();
  for (let round = 0; round < rounds; round++) {
    for (const peer of round % 2 === 0 ? peers : peers.toReversed()) {
      const seen = await visited(peer, REQUESTS);
      figures.get(peer.name)?.cpuUs.set(round, seen.cpuUs);
      figures.get(peer.name)?.p50Ms.set(round, seen.latencyMs.p50);
      figures.get(peer.name)?.p99Ms.set(round, seen.latencyMs.p99);
    }
  }
  report(figures);
  say(`the live view has shown ${await page.close()} of ${rounds * REQUESTS} requests`);
  await checkBooks();
}

function report(figures: ReadonlyMap<string, Figures>): void {
  const base = figures.get(WITHOUT);
  if (base === undefined) return;
  const middle = (of: ReadonlyMap<number, number>): string => median([...of.values()]).toFixed(2);
  const rows = [...figures].map(([name, { cpuUs, p50Ms, p99Ms }]) => [
    name,
    median([...cpuUs.values()]).toFixed(0),
    show(pairedRatio(cpuUs, base.cpuUs)),
    middle(p50Ms),
    middle(p99Ms),
    show(pairedRatio(p99Ms, base.p99Ms)),
  ]);
  say(table(['', 'CPU per request, µs', 'ratio', 'p50, ms', 'p99, ms', 'ratio'], rows).join('\n'));
}

function show(ratio: Interval | null): string {
  return ratio === null ? '' : `${ratio.median.toFixed(3)} (${ratio.low.toFixed(3)}–${ratio.high.toFixed(3)})`;
}

async function timeOverviews(): Promise<void> {
  const peer = await start(onGrownBooks('gateway grown', { startMs: daysAgoMs(GROWN_DAYS - 1), accounts: 1_000 }));
  await visited(peer, WARM_UP_REQUESTS);
  const page = await OpenConsole.at(peer.launch.env ?? {});
  const rows: string[][] = [];
  for (const [name, view] of page.overviews()) {
    const alone: number[] = [];
    const served: number[] = [];
    for (let run = 0; run < RUNS; run++) alone.push(await timed(view));
    let done = false;
    const serving = (async () => {
      const latencies: number[] = [];
      while (!done) latencies.push((await visited(peer, REQUESTS / 4)).latencyMs.p99);
      return latencies;
    })();
    for (let run = 0; run < RUNS; run++) served.push(await timed(view));
    done = true;
    const p99 = median(await serving);
    rows.push([name, ...[median(alone), median(served), Math.max(...served), p99].map((ms) => ms.toFixed(0))]);
  }
  await page.close();
  const head = ['overview', 'alone, ms', 'while serving, ms', 'longest, ms', 'p99 of W1, ms'];
  say(table(head, rows).join('\n'));
  say('all requests of the page at once, until the last one is answered');
}

async function checkBooks(): Promise<void> {
  for (const peer of peers) {
    const { findings } = (await peer.books?.check()) ?? { findings: ['no books'] };
    say(`${peer.name}: ${findings.length === 0 ? 'audit clean' : findings.join('; ')}`);
    if (findings.length > 0) process.exitCode = 1;
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const fromMs = performance.now();
  await work();
  return performance.now() - fromMs;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
