/**
 * `npm run bench [-- W1 W3 …] [--quick] [--json FILE] [--peers a,b] [--without-gateway]`: measures the gateway and its
 * peers in one interleaved run, prints the tables and writes bench/results/latest.md. A peer `gateway@/path/to/checkout`
 * is the gateway of another checkout. `npm run bench -- agents` is an
 * experiment of its own, see agents.ts.
 */

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { measureAgents } from './agents.ts';
import type { CaseSpec, Workload } from './case.ts';
import { caseFigures } from './figures.ts';
import { LoadClient } from './load-client.ts';
import { type Bench, type CaseResult, measureCase, pooled } from './measure.ts';
import { type Adapter, type RunningPeer, startPeer } from './peer.ts';
import { ADAPTERS } from './peers/all.ts';
import { gatewayOfCheckout } from './peers/gateway.ts';
import { findPlacement, type Placement } from './processes.ts';
import { type Report, renderCase, renderReport } from './report.ts';
import { judge } from './targets.ts';
import { makeTlsFiles, type TlsFiles } from './tls.ts';
import { startUpstream } from './upstream-process.ts';
import { allWorkloads } from './workloads.ts';

const RESULTS = fileURLToPath(new URL('results/', import.meta.url));
const GATEWAY = 'gateway';

interface Options {
  readonly workloads: readonly string[];
  readonly quick: boolean;
  readonly json: string | null;
  /** Null for all. */
  readonly peers: ReadonlySet<string> | null;
  readonly withoutGateway: boolean;
  /** The gateways of other checkouts that `peers` names. */
  readonly checkouts: readonly Adapter[];
}

interface Session extends Bench {
  readonly placement: Placement;
  readonly adapters: readonly Adapter[];
  readonly tls: TlsFiles;
  readonly folder: string;
  readonly audits: string[];
  readonly failures: string[];
}

function readOptions(): Options {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      json: { type: 'string' },
      peers: { type: 'string' },
      'without-gateway': { type: 'boolean', default: false },
    },
  });
  return {
    workloads: positionals.map((name) => name.toUpperCase()),
    quick: values.quick,
    json: values.json ?? null,
    peers: values.peers === undefined ? null : new Set(values.peers.split(',')),
    checkouts:
      values.peers === undefined ? [] : values.peers.split(',').flatMap((name) => gatewayOfCheckout(name) ?? []),
    withoutGateway: values['without-gateway'],
  };
}

function chooseWorkloads(options: Options, placement: Placement): readonly Workload[] {
  const all = allWorkloads({
    quick: options.quick,
    fileLimit: placement.fileLimit,
    checkouts: options.checkouts.map(({ name }) => name),
  });
  const unknown = options.workloads.filter((name) => !all.some(({ id }) => id === name));
  if (unknown.length > 0)
    throw new Error(`no workload ${unknown.join(', ')}; there are ${all.map(({ id }) => id).join(', ')}`);
  return options.workloads.length === 0 ? all : all.filter(({ id }) => options.workloads.includes(id));
}

function choosePeers(options: Options, notes: string[]): readonly Adapter[] {
  const chosen: Adapter[] = [];
  for (const adapter of [...ADAPTERS, ...options.checkouts]) {
    if (options.peers !== null && !options.peers.has(adapter.name)) continue;
    if (options.withoutGateway && adapter.name === GATEWAY) continue;
    if (options.quick && options.peers === null && adapter.notQuick) continue;
    const missing = adapter.missing();
    if (missing === null) {
      chosen.push(adapter);
      if (adapter.note !== undefined) notes.push(adapter.note);
    } else notes.push(`${adapter.name} is left out: ${missing}`);
  }
  return chosen;
}

/** Starts the peers that the stage needs, measures its cases, checks the gateway's books and stops everything again. */
async function measureStage(session: Session, workload: Workload, stage: readonly CaseSpec[]): Promise<CaseResult[]> {
  const absent = new Map<string, string>();
  const peers = await startPeers(session, stage, absent);
  try {
    const results: CaseResult[] = [];
    for (const spec of stage) {
      const result = await measureCase(session, spec, peers, absent);
      results.push(result);
      session.say(`${renderCase(caseFigures(result))}\n`);
      noteGatewayFailures(session, result);
    }
    for (const peer of peers.values()) await checkBooks(session, workload, peer);
    return results;
  } finally {
    await Promise.all(Array.from(peers.values(), (peer) => peer.stop()));
  }
}

async function startPeers(
  session: Session,
  stage: readonly CaseSpec[],
  absent: Map<string, string>,
): Promise<ReadonlyMap<string, RunningPeer>> {
  const runs = stage.flatMap((spec) => spec.runs);
  const secure = stage.some((spec) => spec.secure);
  const peers = new Map<string, RunningPeer>();
  const start = async (adapter: Adapter): Promise<void> => {
    const own = runs.filter((run) => run.peer === adapter.name);
    if (own.length === 0) return;
    try {
      const peer = await startPeer(adapter, session.placement, {
        upstreamOrigin: secure ? session.upstream.secureOrigin : session.upstream.origin,
        tls: secure ? session.tls : null,
        folder: mkdtempSync(join(session.folder, 'peer-')),
        shapes: own.flatMap((run) => [run.shape, run.warmUpShape]),
        keys: Math.max(...own.map((run) => run.keys)),
      });
      peers.set(adapter.name, peer);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      absent.set(adapter.name, why);
      session.say(`!! ${adapter.name} is NOT measured: ${why}\n`);
    }
  };
  await Promise.all(session.adapters.map(start));
  return peers;
}

/** A translation that the gateway does not offer is a gap in the table; anything else that it gets wrong is a failure. */
function noteGatewayFailures(session: Session, { spec, runs }: CaseResult): void {
  for (const run of runs) {
    if (!isGateway(run.spec.peer)) continue;
    const isGap = run.skipped?.startsWith('refused with 400') && spec.id.startsWith('W5');
    if (run.skipped !== null && !isGap) session.failures.push(`${spec.id}, ${run.spec.name}: ${run.skipped}`);
    const problems = run.visits.flatMap((visit) => (visit.problem === null ? [] : [visit.problem]));
    if (problems[0] !== undefined) {
      session.failures.push(`${spec.id}, ${run.spec.name}: ${problems.length} void rounds, first: ${problems[0]}`);
    }
  }
}

/** Whichever checkout. */
function isGateway(peer: string): boolean {
  return /^gateway(?:@|$)/.test(peer);
}

async function checkBooks(session: Session, workload: Workload, peer: RunningPeer): Promise<void> {
  if (!peer.books) return;
  const { findings, sumsCompared } = await peer.books.check().catch((error: unknown) => ({
    findings: [`the books could not be read: ${String(error)}`],
    sumsCompared: false,
  }));
  const clean = sumsCompared
    ? 'audit clean, every answer charged once'
    : 'audit clean; sums not compared, requests failed';
  const line = `${workload.id}, ${peer.name}: ${findings.length === 0 ? clean : 'WRONG BOOKS'}`;
  session.audits.push(line);
  session.say(`${line}\n`);
  for (const finding of findings) session.failures.push(`${workload.id}: ${finding}`);
}

/** It measures no time, so it runs alone and without peers. */
async function runAgents(options: Options, say: (line: string) => void): Promise<number> {
  if (options.workloads.length > 1) throw new Error('`agents` runs alone');
  const failures = await measureAgents(say);
  for (const failure of failures) say(`FAILED: ${failure}`);
  return failures.length === 0 ? 0 : 1;
}

async function main(): Promise<number> {
  const options = readOptions();
  const say = (line: string): void => console.log(line);
  if (options.workloads.includes('AGENTS')) return runAgents(options, say);
  const startedAt = new Date();
  const notes: string[] = [];
  const placement = findPlacement();
  const workloads = chooseWorkloads(options, placement);
  const adapters = choosePeers(options, notes);
  const failures: string[] = [];
  const wantsGateway = !options.withoutGateway && options.peers?.has(GATEWAY) !== false;
  if (wantsGateway && !adapters.some(({ name }) => name === GATEWAY)) failures.push('the gateway is missing');
  for (const note of notes) say(`- ${note}`);
  if (placement.pinned) spawnSync('taskset', ['-cp', '1', String(process.pid)]);
  const folder = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
  const tls = makeTlsFiles(folder);
  const upstream = await startUpstream(placement, tls);
  const load = new LoadClient(placement);
  const session: Session = {
    warmUpRounds: options.quick ? 1 : 12,
    load,
    upstream,
    say,
    placement,
    adapters,
    tls,
    folder,
    audits: [],
    failures,
  };
  const results: CaseResult[] = [];
  try {
    for (const workload of workloads) {
      say(`## ${workload.id}: ${workload.title}\n`);
      for (const stage of workload.stages) results.push(...(await measureStage(session, workload, stage)));
    }
  } finally {
    await Promise.all([load.stop(), upstream.child.stop()]);
    rmSync(folder, { recursive: true, force: true });
  }
  const pooledResults = pooled(results);
  const report: Report = {
    command: ['npm run bench --', ...process.argv.slice(2)].join(' '),
    startedAt: startedAt.toISOString(),
    durationS: (Date.now() - startedAt.getTime()) / 1_000,
    placement: placement.note,
    notes,
    cases: pooledResults.map(caseFigures),
    targets: judge(pooledResults),
    audits: session.audits,
    failures,
  };
  finish(report, pooledResults, options);
  return failures.length === 0 ? 0 : 1;
}

function finish(report: Report, results: readonly CaseResult[], options: Options): void {
  const text = renderReport(report);
  console.log(text.slice(text.indexOf('## Targets')));
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(join(RESULTS, 'latest.md'), text);
  if (options.json !== null) writeFileSync(options.json, `${JSON.stringify({ ...report, results }, null, 1)}\n`);
  console.log(
    `${Math.round(report.durationS)} s; written to bench/results/latest.md${options.json === null ? '' : ` and ${options.json}`}`,
  );
}

process.exitCode = await main();
