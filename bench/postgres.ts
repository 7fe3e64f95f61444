/**
 * `node bench/postgres.ts [--peers CHECKOUT,…] [--cases NAME,…] [--rounds N] [--pairs N] [--apart]`: what a request costs the gateway
 * and the PostgreSQL server, as CPU time, write-ahead log and throughput, for several checkouts of this project on one server.
 * Interleaved rounds; the books are audited at the end.
 *
 * `--apart`: the server has one core and the gateways the others, so that a second gateway takes no core, and so no warm cache, from
 * the server; by default they share all. Linux only.
 */
import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { newId } from '../src/admin/ids.ts';
import { createLedger } from '../src/ledger/ledger.ts';
import { openPostgresStore } from '../src/ledger/postgres/store.ts';
import { newAccount, newKey } from '../test/contract/fixtures.ts';
import { startPostgres, type TestPostgres } from '../test/support/postgres.ts';
import { treeUse } from './cpu.ts';
import { ledgerOf } from './ledger-of.ts';
import type { LoadCommand, LoadOptions } from './postgres-load.ts';
import { table } from './report.ts';
import { bootstrapMedian, type Interval, pairedRatio } from './stats.ts';

interface Case {
  readonly name: string;
  /** The case that this one's server CPU and throughput are compared with, round by round. */
  readonly against?: string;
  readonly keys: number;
  /** Of accounts above them, each but the root with a cap. */
  readonly levels: number;
  readonly replicas: number;
  /** At each replica. */
  readonly concurrency: number;
}

const CASES: readonly Case[] = [
  { name: 'lone', keys: 1, levels: 0, replicas: 1, concurrency: 32 },
  { name: 'lone-two-replicas', against: 'lone', keys: 1, levels: 0, replicas: 2, concurrency: 32 },
  { name: 'three-levels', keys: 1, levels: 3, replicas: 1, concurrency: 32 },
  { name: 'three-levels-two-replicas', against: 'three-levels', keys: 1, levels: 3, replicas: 2, concurrency: 32 },
  { name: 'many', keys: 1_000, levels: 0, replicas: 1, concurrency: 32 },
  { name: 'many-64', keys: 1_000, levels: 0, replicas: 1, concurrency: 64 },
  { name: 'many-two-replicas', against: 'many', keys: 1_000, levels: 0, replicas: 2, concurrency: 32 },
  { name: 'one-at-a-time', keys: 1, levels: 0, replicas: 1, concurrency: 1 },
];
const CREDIT_NANOS = 10n ** 15n;
/** Of each replica before the rounds: V8 compiles for tens of thousands of requests, and one of two replicas gets half of them. */
const WARM_UP_PAIRS = 36_000;
/** As an operator would run it: every acknowledged commit is on disk. */
const DURABLE = ['-c', 'max_connections=200', '-c', 'shared_buffers=256MB', '-c', 'max_wal_size=4GB'];

interface Started {
  readonly database: string;
  readonly replicas: readonly ChildProcess[];
}

class Running {
  readonly name: string;
  readonly database: string;
  readonly #replicas: readonly ChildProcess[];
  /** What is sent one at a time takes ten times as long: so many times fewer are. */
  readonly #fewer: number;
  readonly peer: string;
  readonly spec: Case;
  readonly rounds: Record<'perSecond' | 'gatewayUs' | 'serverUs' | 'walBytes', Map<number, number>> = {
    perSecond: new Map(),
    gatewayUs: new Map(),
    serverUs: new Map(),
    walBytes: new Map(),
  };

  constructor(spec: Case, peer: string, { database, replicas }: Started) {
    this.name = `${spec.name}, ${peer}`;
    this.peer = peer;
    this.spec = spec;
    this.database = database;
    this.#replicas = replicas;
    this.#fewer = spec.concurrency === 1 ? 10 : 1;
  }

  async warmUp(): Promise<void> {
    await this.#makePairs((WARM_UP_PAIRS / this.#fewer) * this.#replicas.length);
    await this.#rollUp();
  }

  async #makePairs(pairs: number): Promise<void> {
    await this.#tell(Math.round(pairs / this.#replicas.length));
  }

  async #rollUp(): Promise<void> {
    await this.#tell('roll up');
  }

  async #tell(command: LoadCommand): Promise<void> {
    const done = this.#replicas.map((replica) => once(replica, 'message'));
    for (const replica of this.#replicas) replica.send(command);
    await Promise.all(done);
  }

  async visit(round: number, server: TestPostgres, serverPid: number, most: number): Promise<void> {
    const pairs = most / this.#fewer;
    const gateway = (): number =>
      this.#replicas.reduce((sum, { pid }) => sum + (pid === undefined ? 0 : treeUse(pid).cpuNs), 0);
    const walOf = async (): Promise<number> => {
      const [row] = await server.query(this.database, `SELECT pg_current_wal_lsn() - '0/0' AS bytes`);
      return Number(row?.bytes);
    };
    const before = {
      gateway: gateway(),
      server: treeUse(serverPid).cpuNs,
      wal: await walOf(),
      atMs: performance.now(),
    };
    await this.#makePairs(pairs);
    this.rounds.perSecond.set(round, (pairs * 1_000) / (performance.now() - before.atMs));
    // What reports need of these requests belongs to their cost.
    await this.#rollUp();
    this.rounds.gatewayUs.set(round, (gateway() - before.gateway) / 1_000 / pairs);
    this.rounds.serverUs.set(round, (treeUse(serverPid).cpuNs - before.server) / 1_000 / pairs);
    this.rounds.walBytes.set(round, ((await walOf()) - before.wal) / pairs);
  }

  async close(): Promise<void> {
    for (const replica of this.#replicas) replica.send('end' satisfies LoadCommand);
    await Promise.all(this.#replicas.map((replica) => once(replica, 'exit')));
  }
}

interface Placing {
  readonly server: TestPostgres;
  /** As `taskset` takes them; null where they share all. */
  readonly gatewayCores: string | null;
}

async function start({ server, gatewayCores }: Placing, checkout: string, spec: Case): Promise<Running> {
  const database = await server.createDatabase();
  const url = server.url(database);
  // By its own code: the schema and the functions of an earlier release are its own.
  const code = await ledgerOf(checkout);
  const ledger = code.createLedger(await code.openPostgresStore({ url }));
  await ledger.register();
  let accountId: string | null = null;
  for (let level = 0; level < spec.levels; level++) {
    const creditCap = accountId === null ? null : { amount: CREDIT_NANOS, period: 'month' as const };
    const request = newAccount({ parentId: accountId, name: `level ${level}`, creditCap });
    await ledger.createAccount(request);
    if (accountId === null) await ledger.addAccountCredit(request.id, randomUUID(), CREDIT_NANOS, null);
    accountId = request.id;
  }
  const keys = [];
  for (let index = 0; index < spec.keys; index++) {
    const { id, version } = await ledger.createKey(
      newKey({ id: newId('key'), accountId, credit: accountId === null ? CREDIT_NANOS : 0n }),
    );
    keys.push({ id, version });
  }
  await ledger.close();
  const options: LoadOptions = { checkout, url, keys, concurrency: spec.concurrency };
  const placed =
    gatewayCores === null ? {} : { execPath: 'taskset', execArgv: ['--cpu-list', gatewayCores, process.execPath] };
  const replicas = Array.from({ length: spec.replicas }, () =>
    fork(new URL('postgres-load.ts', import.meta.url), [JSON.stringify(options)], placed),
  );
  await Promise.all(replicas.map((replica) => once(replica, 'message')));
  return new Running(spec, checkout, { database, replicas });
}

function report(runs: readonly Running[]): string {
  const head = [
    '',
    'requests/s',
    'gateway CPU µs',
    'server CPU µs',
    'write-ahead log B',
    '× requests/s',
    '× server CPU',
  ];
  const rows = runs.map(({ name, peer, spec, rounds }) => {
    const base = runs.find((other) => other.peer === peer && other.spec.name === spec.against)?.rounds;
    return [
      name,
      ...Object.values(rounds).map((each) => show(bootstrapMedian([...each.values()]), 0)),
      show(base === undefined ? null : pairedRatio(rounds.perSecond, base.perSecond), 2),
      show(base === undefined ? null : pairedRatio(rounds.serverUs, base.serverUs), 2),
    ];
  });
  return table(head, rows).join('\n');
}

/** Where this process is, its server will be. Returns the cores that are left. */
function serverOnLastCore(): string {
  const last = availableParallelism() - 1;
  if (last === 0) throw new Error('--apart needs a second core');
  execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', String(last), String(process.pid)]);
  return `0-${last - 1}`;
}

function show(value: Interval | null, decimals: number): string {
  if (value === null) return '–';
  const [middle, low, high] = [value.median, value.low, value.high].map((part) => part.toFixed(decimals));
  return `${middle} [${low}, ${high}]`;
}

async function main(): Promise<number> {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    options: { peers: text, cases: text, rounds: text, pairs: text, apart: { type: 'boolean' } },
  });
  const peers = (values.peers ?? '.').split(',');
  const names = values.cases?.split(',');
  const gatewayCores = values.apart ? serverOnLastCore() : null;
  const server = await startPostgres(DURABLE);
  const [postmaster] = await server.query(
    'postgres',
    `SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1) AS pid`,
  );
  const serverPid = Number(postmaster?.pid);
  const runs: Running[] = [];
  let clean = true;
  try {
    for (const spec of CASES.filter(({ name }) => names?.includes(name) ?? true)) {
      for (const peer of peers) runs.push(await start({ server, gatewayCores }, peer, spec));
    }
    const pairs = Number(values.pairs ?? 4_000);
    for (const run of runs) await run.warmUp();
    for (let round = 0; round < Number(values.rounds ?? 6); round++) {
      for (const run of round % 2 === 0 ? runs : runs.toReversed()) {
        await run.visit(round, server, serverPid, pairs);
      }
    }
    console.log(report(runs));
    for (const run of runs) await run.close();
    for (const run of runs) {
      const ledger = createLedger(await openPostgresStore({ url: server.url(run.database) }));
      const report = await ledger.audit();
      clean &&= report.ok && report.liveHolds === 0;
      for (const finding of report.findings) console.log(`${run.name}: ${finding}`);
      await ledger.close();
    }
    console.log(clean ? 'audit clean' : 'AUDIT FAILED');
  } finally {
    await server.stop();
  }
  return clean ? 0 : 1;
}

process.exitCode = await main();
