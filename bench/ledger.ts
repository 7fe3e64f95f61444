/**
 * `node bench/ledger.ts [--quick] [--engine sqlite|postgres]`: pairs of admit (with a hold) and settle (with a usage record) per second, and what a pair
 * costs in CPU over all threads. Interleaved rounds; the books are audited at the end.
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { KeyRecord } from '../src/core/key.ts';
import type { BatcherOptions } from '../src/ledger/group-commit/batcher.ts';
import type { OperationRunner } from '../src/ledger/group-commit/group-commit.ts';
import { GroupCommit } from '../src/ledger/group-commit/group-commit.ts';
import { createLedgerOn, type OwnedLedger } from '../src/ledger/ledger.ts';
import { startMaintenance } from '../src/ledger/maintenance.ts';
import { openPostgresStore } from '../src/ledger/postgres/store.ts';
import { openInProcessStore } from '../src/ledger/sqlite/in-process-store.ts';
import { newAccount } from '../test/contract/fixtures.ts';
import { startPostgres, type TestPostgres } from '../test/support/postgres.ts';
import { treeUse } from './cpu.ts';
import { pair } from './pair.ts';
import { table } from './report.ts';
import { bootstrapMedian, type Interval, pairedRatio } from './stats.ts';

interface Backend {
  readonly name: string;
  open(folder: string, options: BatcherOptions): Promise<OperationRunner>;
}

interface Case {
  readonly name: string;
  readonly keys: number;
  readonly concurrency: number;
  /** Of accounts above the keys. */
  readonly levels: number;
  /** Operations per transaction; null leaves it to the ledger. */
  readonly batchMax: number | null;
  readonly pairs: number;
}

interface Running {
  readonly spec: Case;
  readonly backend: string;
  readonly ledger: OwnedLedger;
  readonly keys: readonly KeyRecord[];
  readonly perSecond: Map<number, number>;
  readonly cpuUs: Map<number, number>;
  close(): Promise<void>;
}

/** As an operator would run it: every acknowledged commit is on disk. */
const DURABLE = ['-c', 'max_connections=60', '-c', 'shared_buffers=256MB'];
/** A child of this process, so that its CPU counts. */
let server: TestPostgres | null = null;
const BACKENDS: readonly Backend[] = [
  {
    name: 'sqlite',
    open: async (folder, options) => new GroupCommit(openInProcessStore({ file: join(folder, 'ledger.db') }), options),
  },
  {
    name: 'postgres',
    open: async (_folder, options) => {
      server ??= await startPostgres(DURABLE);
      return new GroupCommit(await openPostgresStore({ url: server.url(await server.createDatabase()) }), options);
    },
  },
];
const CREDIT_NANOS = 10n ** 15n;
const REQUESTS_PER_MINUTE = 1_000_000;
const REFERENCE = 'batched, one hot key';

function cases(quick: boolean): readonly Case[] {
  const few = quick ? 100 : 500;
  const many = quick ? 2_000 : 10_000;
  return [
    { name: 'one at a time', keys: 1, concurrency: 1, levels: 0, batchMax: null, pairs: few },
    { name: 'unbatched, one hot key', keys: 1, concurrency: 64, levels: 0, batchMax: 1, pairs: few },
    { name: 'unbatched, many keys', keys: 64, concurrency: 64, levels: 0, batchMax: 1, pairs: few },
    { name: REFERENCE, keys: 1, concurrency: 64, levels: 0, batchMax: null, pairs: many },
    {
      name: 'batched, one hot key, three levels of accounts',
      keys: 1,
      concurrency: 64,
      levels: 3,
      batchMax: null,
      pairs: many,
    },
    { name: 'batched, many keys', keys: 64, concurrency: 64, levels: 0, batchMax: null, pairs: many },
    { name: 'batched, one hot key, 512 at once', keys: 1, concurrency: 512, levels: 0, batchMax: null, pairs: many },
  ];
}

async function start(backend: Backend, spec: Case): Promise<Running> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-ledger-bench-'));
  const ledger = createLedgerOn(await backend.open(folder, spec.batchMax === null ? {} : { batchMax: spec.batchMax }));
  const maintenance = await startMaintenance(ledger);
  const accountId = await lowestAccount(ledger, spec.levels);
  const keys = await Promise.all(Array.from({ length: spec.keys }, () => newKey(ledger, accountId)));
  return {
    spec,
    backend: backend.name,
    ledger,
    keys,
    perSecond: new Map(),
    cpuUs: new Map(),
    close: async () => {
      await maintenance.stop();
      await ledger.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The root pays, the others have a cap. */
async function lowestAccount(ledger: OwnedLedger, levels: number): Promise<string | null> {
  let lowest: string | null = null;
  for (let level = 0; level < levels; level++) {
    const creditCap = lowest === null ? null : { amount: CREDIT_NANOS, period: 'month' as const };
    const request = newAccount({ parentId: lowest, name: `level ${level}`, creditCap });
    await ledger.createAccount(request);
    if (lowest === null) await ledger.addAccountCredit(request.id, randomUUID(), CREDIT_NANOS, null);
    lowest = request.id;
  }
  return lowest;
}

function newKey(ledger: OwnedLedger, accountId: string | null): Promise<KeyRecord> {
  return ledger.createKey({
    id: randomUUID(),
    mode: 'credit',
    label: null,
    providerScope: 'all',
    models: null,
    rpmLimit: REQUESTS_PER_MINUTE,
    expiresAtMs: null,
    budget: null,
    period: 'month',
    accountId,
    credit: accountId === null ? CREDIT_NANOS : 0n,
    secret: { digest: randomUUID(), prefix: randomUUID().slice(0, 12) },
  });
}

async function runPairs({ ledger, keys, spec }: Running, pairs: number): Promise<void> {
  let left = pairs;
  const slot = async (index: number): Promise<void> => {
    const key = keys[index % keys.length];
    while (key && left > 0) {
      left--;
      await pair(ledger, key);
    }
  };
  await Promise.all(Array.from({ length: spec.concurrency }, (_, index) => slot(index)));
}

async function visit(running: Running, round: number): Promise<void> {
  const { pairs } = running.spec;
  const before = treeUse(process.pid).cpuNs;
  const startMs = performance.now();
  await runPairs(running, pairs);
  running.perSecond.set(round, (pairs * 1_000) / (performance.now() - startMs));
  running.cpuUs.set(round, (treeUse(process.pid).cpuNs - before) / 1_000 / pairs);
}

function print(runs: readonly Running[]): void {
  const rows = runs.map((run) => {
    const reference = runs.find(({ backend, spec }) => backend === run.backend && spec.name === REFERENCE) ?? run;
    return [
      `${run.backend}: ${run.spec.name}`,
      show(bootstrapMedian([...run.perSecond.values()]), 0),
      show(bootstrapMedian([...run.cpuUs.values()]), 1),
      run === reference ? '1' : show(pairedRatio(run.perSecond, reference.perSecond), 2),
      run === reference ? '1' : show(pairedRatio(run.cpuUs, reference.cpuUs), 2),
    ];
  });
  const head = ['', 'pairs per second', 'CPU µs per pair', 'throughput ratio', 'CPU ratio'];
  console.log(table(head, rows).join('\n'));
  console.log(`\nMedians with 95 % bootstrap intervals; ratios against "${REFERENCE}", round by round.`);
}

function show(value: Interval | null, decimals: number): string {
  if (value === null) return '–';
  const [middle, low, high] = [value.median, value.low, value.high].map((part) => part.toFixed(decimals));
  return `${middle} [${low}, ${high}]`;
}

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false }, engine: { type: 'string' } } });
  const runs: Running[] = [];
  let clean = true;
  try {
    for (const backend of BACKENDS.filter(({ name }) => name === (values.engine ?? name))) {
      for (const spec of cases(values.quick)) runs.push(await start(backend, spec));
    }
    for (const run of runs) await runPairs(run, run.spec.pairs);
    for (let round = 0; round < (values.quick ? 4 : 8); round++) {
      for (const run of round % 2 === 0 ? runs : runs.toReversed()) await visit(run, round);
    }
    print(runs);
    for (const run of runs) {
      const report = await run.ledger.audit();
      clean &&= report.ok && report.liveHolds === 0;
      for (const finding of report.findings) console.log(`${run.backend}, ${run.spec.name}: ${finding}`);
    }
    console.log(clean ? 'audit clean' : 'AUDIT FAILED');
  } finally {
    for (const run of runs) await run.close();
    await server?.stop();
  }
  return clean ? 0 : 1;
}

process.exitCode = await main();
