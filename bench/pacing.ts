/**
 * Whether a stream keeps its pace on its way through the gateway: `node bench/pacing.ts [--quick]`. Paced streams go
 * straight to the simulated upstream, through a bare proxy and through the gateway in one interleaved run, forth and
 * back. Every gap is compared with the same gap of the direct stream beside it. What two direct streams differ by, and
 * what the bare proxy on the gateway's core does, is the noise of the run.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type PacedOrder, type PacedStream, readPaced } from './paced-stream.ts';
import { type RunningPeer, startPeer } from './peer.ts';
import { bare } from './peers/bare.ts';
import { direct } from './peers/direct.ts';
import { gateway } from './peers/gateway.ts';
import { findPlacement } from './processes.ts';
import { modelName, PATHS, type RequestShape, requestBody, terminalText, type Wire } from './requests.ts';
import { median, percentile } from './stats.ts';
import { startUpstream } from './upstream-process.ts';

const CHUNKS = 40;
const PACE_MS = 20;
const BODY_BYTES = 1_000;
const ROUNDS = 8;
const ROUNDS_QUICK = 3;
/** Streams that run beside each other in one visit. */
const AT_ONCE = 5;
/** Unpaced visits before the first that counts: connections are opened and code is compiled in them. */
const WARM_UP_VISITS = 40;

function shapeOf(client: Wire, native: Wire, paceMs = PACE_MS): RequestShape {
  return { client, native, bodyBytes: BODY_BYTES, answer: { kind: 'stream', chunks: CHUNKS, paceMs } };
}

function unpaced({ client, native }: RequestShape): RequestShape {
  return shapeOf(client, native, 0);
}

/** What the client of each case speaks, and what the upstream does. */
const CASES: readonly RequestShape[] = [
  shapeOf('chat', 'chat'),
  shapeOf('messages', 'messages'),
  shapeOf('messages', 'chat'),
];

function orderTo(peer: RunningPeer, shape: RequestShape, agent: Agent): PacedOrder {
  return {
    url: peer.launch.origin + PATHS[shape.client],
    headers: peer.launch.headers(shape, 0),
    body: requestBody(shape, modelName(shape)),
    agent,
    chunks: CHUNKS,
    terminal: terminalText(shape) ?? '',
  };
}

/** The streams of one peer, visited twice in each round. */
interface Visited {
  readonly name: string;
  readonly order: PacedOrder;
  readonly forth: PacedStream[];
  readonly back: PacedStream[];
}

function visit(order: PacedOrder): Promise<PacedStream[]> {
  return Promise.all(Array.from({ length: AT_ONCE }, () => readPaced(order)));
}

function figures(values: readonly number[]): string[] {
  return [median(values), percentile(values, 99)].map((value) => value.toFixed(2));
}

/** Stream by stream, gap by gap. */
function gapDifferences(some: readonly PacedStream[], others: readonly PacedStream[]): number[] {
  return some.flatMap(({ gapsMs }, stream) =>
    gapsMs.map((gapMs, index) => Math.abs(gapMs - (others[stream]?.gapsMs[index] ?? Number.NaN))),
  );
}

function firstDifferences(some: readonly PacedStream[], others: readonly PacedStream[]): number[] {
  return some.map(({ firstByteMs }, stream) => firstByteMs - (others[stream]?.firstByteMs ?? Number.NaN));
}

function row(name: string, firstMs: readonly number[], gapsMs: readonly number[]): string {
  return `| ${[name, ...figures(firstMs), ...figures(gapsMs)].join(' | ')} |`;
}

function render(straight: Visited, others: readonly Visited[]): string[] {
  const first = (streams: readonly PacedStream[]): number[] => streams.map(({ firstByteMs }) => firstByteMs);
  const gaps = (streams: readonly PacedStream[]): number[] => streams.flatMap(({ gapsMs }) => gapsMs);
  const all = ({ forth, back }: Visited): PacedStream[] => [...forth, ...back];
  const against = (name: string, some: readonly PacedStream[], base: readonly PacedStream[]): string =>
    row(name, firstDifferences(some, base), gapDifferences(some, base));
  return [
    '| ms | first byte, median | p99 | gap, median | p99 |',
    '|---|---|---|---|---|',
    ...[straight, ...others].map((peer) => row(peer.name, first(all(peer)), gaps(all(peer)))),
    against('direct again - direct', straight.back, straight.forth),
    ...others.map((peer) => against(`${peer.name} - direct`, all(peer), all(straight))),
  ];
}

async function measureCase(
  peers: readonly RunningPeer[],
  shape: RequestShape,
  agent: Agent,
  rounds: number,
): Promise<void> {
  const visited: Visited[] = [];
  for (const peer of peers) {
    // Only the gateway translates; the others are asked for what the upstream speaks.
    const asked = peer.books ? shape : { ...shape, client: shape.native };
    const warmUp = orderTo(peer, unpaced(asked), agent);
    for (let i = 0; i < WARM_UP_VISITS; i++) await visit(warmUp);
    peer.books?.record(unpaced(asked), [WARM_UP_VISITS * AT_ONCE], 0);
    visited.push({ name: peer.name, order: orderTo(peer, asked, agent), forth: [], back: [] });
  }
  for (let round = 0; round < rounds; round++) {
    for (const { order, forth } of visited) forth.push(...(await visit(order)));
    for (const { order, back } of visited.toReversed()) back.push(...(await visit(order)));
  }
  for (const { books } of peers) books?.record(shape, [2 * rounds * AT_ONCE], 0);
  const [straight, ...others] = visited;
  if (straight) console.log(['', `## ${shape.client} to ${shape.native}`, '', ...render(straight, others)].join('\n'));
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
  const rounds = values.quick ? ROUNDS_QUICK : ROUNDS;
  const placement = findPlacement();
  if (placement.pinned) spawnSync('taskset', ['-cp', '1', String(process.pid)]);
  const folder = mkdtempSync(join(tmpdir(), 'gateway-pacing-'));
  const upstream = await startUpstream(placement);
  const agent = new Agent({ keepAlive: true });
  const context = { upstreamOrigin: upstream.origin, tls: null, shapes: [...CASES, ...CASES.map(unpaced)], keys: 1 };
  const peers: RunningPeer[] = [];
  try {
    for (const adapter of [direct, bare, gateway]) {
      peers.push(await startPeer(adapter, placement, { ...context, folder: mkdtempSync(join(folder, 'peer-')) }));
    }
    console.log(
      `${CHUNKS} chunks, one per ${PACE_MS} ms, ${AT_ONCE} streams at once, ${rounds} rounds; ${placement.note}`,
    );
    for (const shape of CASES) await measureCase(peers, shape, agent, rounds);
    const books = peers.find((peer) => peer.books)?.books;
    const audit = await books?.check();
    if (audit && audit.findings.length > 0) throw new Error(audit.findings.join('\n'));
  } finally {
    agent.destroy();
    await Promise.all([...peers.map((peer) => peer.stop()), upstream.child.stop()]);
    rmSync(folder, { recursive: true, force: true });
  }
}

await main();
