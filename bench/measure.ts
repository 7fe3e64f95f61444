/** Takes the peers through a stage of a workload, round by round, and keeps what was seen. */
import { randomUUID } from 'node:crypto';
import type { CaseSpec, RunSpec } from './case.ts';
import { treeUse } from './cpu.ts';
import type { Job, LoadResult } from './load.ts';
import type { LoadClient } from './load-client.ts';
import type { RunningPeer } from './peer.ts';
import { sleep } from './processes.ts';
import { expectedMarks, modelName, PATHS, requestBody, terminalText } from './requests.ts';
import type { UpstreamCounts } from './upstream.ts';
import type { Upstream } from './upstream-process.ts';

export interface Visit {
  readonly round: number;
  readonly result: LoadResult;
  /** Null for direct. */
  readonly cpuNs: number | null;
  readonly memory: Memory | null;
  readonly loopDelayMs: number | null;
  /** How many answers the upstream was stopped in. */
  readonly upstreamCut: number;
  /** Why the round does not count; null when it does. */
  readonly problem: string | null;
}

export interface Memory {
  readonly beforeBytes: number;
  /** The most that was resident while all streams were open. */
  readonly openBytes: number;
  readonly afterBytes: number;
}

export interface RunResult {
  readonly spec: RunSpec;
  readonly visits: readonly Visit[];
  /** Why the run was left out; null when it was measured. */
  readonly skipped: string | null;
}

export interface CaseResult {
  readonly spec: CaseSpec;
  readonly runs: readonly RunResult[];
}

/** A case that was measured several times, as one with the rounds of all. */
export function pooled(results: readonly CaseResult[]): readonly CaseResult[] {
  return Array.from(Map.groupBy(results, ({ spec }) => spec.id).values(), merged);
}

function merged(parts: readonly CaseResult[]): CaseResult {
  const [first] = parts;
  if (first === undefined) throw new TypeError('nothing was measured');
  const runs = first.runs.map(({ spec, skipped }) => ({
    spec,
    skipped,
    visits: parts.flatMap((part, start) => {
      const { visits } = part.runs.find((run) => run.spec.name === spec.name) ?? { visits: [] };
      return visits.map((visit) => ({ ...visit, round: start * part.spec.rounds + visit.round }));
    }),
  }));
  return { spec: first.spec, runs };
}

export interface Bench {
  readonly load: LoadClient;
  readonly upstream: Upstream;
  readonly say: (line: string) => void;
  /** How many rounds go before those that are measured. */
  readonly warmUpRounds: number;
}

/** Work that a peer does after its last byte belongs to the visit, also what it writes in batches, as a request log is. */
const TAIL_MS = 300;
const WARM_UP_MAX = 72_000;
const MEMORY_WARM_UP_MAX = 20;
const MEMORY_POLL_MS = 250;
const MEMORY_REST_MS = 3_000;
const CUT_WAIT_MS = 5_000;

export async function measureCase(
  bench: Bench,
  spec: CaseSpec,
  peers: ReadonlyMap<string, RunningPeer>,
  absent: ReadonlyMap<string, string>,
): Promise<CaseResult> {
  const runs: { spec: RunSpec; peer: RunningPeer; visits: Visit[] }[] = [];
  const skipped: RunResult[] = [];
  for (const run of spec.runs) {
    const peer = peers.get(run.peer);
    const reason = peer ? await whyNot(peer, { ...run, shape: run.warmUpShape }) : (absent.get(run.peer) ?? null);
    if (peer && reason === null) runs.push({ spec: run, peer, visits: [] });
    else if (reason !== null) skipped.push({ spec: run, visits: [], skipped: reason });
  }
  // Forth in one round and back in the next, so that a drift of the machine falls on all alike.
  const inTurn = (round: number) => (round % 2 === 0 ? runs : runs.toReversed());
  // In turn from the start: a peer that rests for long can lose some of what its engine has compiled.
  for (const [round, requests] of warmUpRounds(bench, spec).entries()) {
    for (const run of inTurn(round)) {
      if (round === 0 || run.peer.launch.runsOnNode) await warmUp(bench, spec, run.spec, run.peer, requests);
    }
  }
  for (let round = 0; round < spec.rounds; round++) {
    for (const run of inTurn(round)) {
      const visit = await visitOnce(bench, spec, run.spec, run.peer, round);
      if (visit.problem !== null)
        bench.say(`  void: ${spec.id}, ${run.spec.name}, round ${round + 1}: ${visit.problem}`);
      run.visits.push(visit);
    }
  }
  return { spec, runs: [...runs.map(({ spec: run, visits }) => ({ spec: run, visits, skipped: null })), ...skipped] };
}

/** One request ahead of the rounds: a peer that refuses this shape is left out, with its own words. */
async function whyNot(peer: RunningPeer, run: RunSpec): Promise<string | null> {
  const request = {
    headers: { 'content-type': 'application/json', ...peer.launch.headers(run.shape, 0) },
    method: 'POST',
  };
  try {
    const body = requestBody(run.shape, upstreamModel(peer, run));
    const response = await fetch(peer.launch.origin + PATHS[run.shape.client], { ...request, body });
    const text = await response.text();
    if (response.status !== 200) {
      const log = response.status >= 500 ? ` (its log: ${peer.child?.output().trim().slice(-1_000) ?? ''})` : '';
      return `refused with ${response.status}: ${text.slice(0, 300)}${log}`;
    }
    peer.books?.record(run.shape, [1], 0);
    return null;
  } catch (error) {
    peer.books?.record(run.shape, [], 1);
    const said = peer.child?.output().trim().slice(-300) ?? '';
    return `did not answer (${error instanceof Error ? error.message : String(error)}): ${said}`;
  }
}

/**
 * How many requests each round before the measured ones has. An engine that compiles what runs often, as V8 does, needs tens
 * of thousands of requests before it is done with that; one round is enough for all others.
 */
function warmUpRounds(bench: Bench, spec: CaseSpec): readonly number[] {
  // Garbage of a long warm-up would make room for the streams to come and hide what they take: memory is measured from
  // a peer that has hardly worked, so that the figure errs upwards.
  if (spec.figure === 'memory') return [Math.min(spec.requests, MEMORY_WARM_UP_MAX)];
  const rounds = Math.min(spec.warmUpRounds ?? bench.warmUpRounds, Math.ceil(WARM_UP_MAX / spec.requests));
  return Array<number>(rounds).fill(spec.requests);
}

async function warmUp(bench: Bench, spec: CaseSpec, run: RunSpec, peer: RunningPeer, requests: number): Promise<void> {
  const warm = { ...run, shape: run.warmUpShape };
  const concurrency = Math.min(spec.concurrency, requests);
  const result = await bench.load.run({ ...jobFor(spec, warm, peer), requests, concurrency });
  peer.books?.record(warm.shape, result.completedBySet, result.failed);
  await peer.loopDelayMs();
}

async function visitOnce(bench: Bench, spec: CaseSpec, run: RunSpec, peer: RunningPeer, round: number): Promise<Visit> {
  const pid = peer.child?.pid ?? null;
  if (spec.figure === 'memory') await fetch(bench.upstream.origin, { method: 'DELETE' });
  const cutBefore = (await upstreamCounts(bench)).cut;
  const before = pid === null ? null : treeUse(pid);
  const watch = pid !== null && spec.figure === 'memory' ? watchMemory(pid) : null;
  const result = await bench.load.run(jobFor(spec, run, peer), () => watch?.open());
  const openBytes = watch?.close() ?? null;
  await sleep(TAIL_MS);
  const after = pid === null ? null : treeUse(pid);
  const loopDelayMs = await peer.loopDelayMs();
  peer.books?.record(run.shape, result.completedBySet, result.failed);
  const upstreamCut = (await upstreamCountsWhenQuiet(bench)).cut - cutBefore;
  if (openBytes !== null) await sleep(MEMORY_REST_MS);
  const rested = pid === null ? null : treeUse(pid);
  return {
    round,
    result,
    cpuNs: before && after ? after.cpuNs - before.cpuNs : null,
    memory:
      before && rested && openBytes !== null
        ? { beforeBytes: before.rssBytes, openBytes, afterBytes: rested.rssBytes }
        : null,
    loopDelayMs,
    upstreamCut,
    problem: problemOf(spec, result, peer),
  };
}

function jobFor(spec: CaseSpec, run: RunSpec, peer: RunningPeer): Job {
  const { shape } = run;
  return {
    origin: peer.launch.origin,
    path: PATHS[shape.client],
    headerSets: Array.from({ length: run.keys }, (_, key) => ({
      'content-type': 'application/json',
      ...peer.launch.headers(shape, key),
    })),
    body: requestBody(shape, upstreamModel(peer, run)),
    concurrency: spec.concurrency,
    requests: spec.requests,
    marks: expectedMarks(shape.answer),
    terminal: terminalText(shape),
    cutAfterMarks: spec.cutAfterMarks,
    idempotencyPrefix: run.idempotent ? `${randomUUID()}-` : null,
  };
}

function upstreamModel(peer: RunningPeer, run: RunSpec): string {
  const name = modelName(run.shape);
  return peer.launch.modelName?.(name) ?? name;
}

function problemOf(spec: CaseSpec, result: LoadResult, peer: RunningPeer): string | null {
  if (peer.child?.hasExited()) return `the peer ended: ${peer.child.output().slice(-300)}`;
  if (result.failed > 0) return `${result.failed} of ${spec.requests} failed: ${result.failures.join('; ')}`;
  if (result.marks !== result.marksExpected) return `${result.marks} of ${result.marksExpected} frames arrived`;
  const cuts = spec.cutAfterMarks === null ? 0 : Math.floor(spec.requests / 2);
  if (result.cut !== cuts) return `${result.cut} streams were cut instead of ${cuts}`;
  return null;
}

/** `close`: the most that was seen; null where the streams were never all open at the same time. */
function watchMemory(pid: number): { open(): void; close(): number | null } {
  let peakBytes: number | null = null;
  let timer: NodeJS.Timeout | undefined;
  const look = (): void => {
    peakBytes = Math.max(peakBytes ?? 0, treeUse(pid).rssBytes);
  };
  return {
    open() {
      look();
      timer = setInterval(look, MEMORY_POLL_MS);
    },
    close() {
      clearInterval(timer);
      return peakBytes;
    },
  };
}

async function upstreamCounts(bench: Bench): Promise<UpstreamCounts> {
  const { origin, child } = bench.upstream;
  if (child.hasExited()) throw new Error(`the simulated upstream ended: ${child.output()}`);
  const response = await fetch(origin);
  return (await response.json()) as UpstreamCounts;
}

/** After a cut, the upstream learns of it as soon as the peer lets go; a peer that never does is seen in the count. */
async function upstreamCountsWhenQuiet(bench: Bench): Promise<UpstreamCounts> {
  const deadlineMs = performance.now() + CUT_WAIT_MS;
  for (;;) {
    const counts = await upstreamCounts(bench);
    if (counts.open === 0 || performance.now() > deadlineMs) return counts;
    await sleep(20);
  }
}
