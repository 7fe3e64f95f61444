/** Several gateways on one PostgreSQL, each with a proxy of its own before the database. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startSandbox } from '../../src/sandbox/server.ts';
import { ChaosProxy } from '../resilience/chaos/chaos-proxy.ts';
import type { Random } from '../simulation/random.ts';
import { postgresCharges } from '../support/charges.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { TorturedGateway } from './gateways.ts';
import { configFor, cut, LEASE_S, type World, type WorldOptions } from './world.ts';

const SECRET = 'an installation secret for tests only';
/** Longer than a gateway waits for a statement, so that it has given it up before it is applied. */
const STALL_MS = 16_000;
/** A batch that is stalled is answered by then, and its hold voided. */
const GIVEN_UP_MS = 15_000;

export async function postgresWorld({ workers, gateways: replicas }: WorldOptions): Promise<World> {
  await using parts = new AsyncDisposableStack();
  const server = await startPostgres();
  parts.defer(() => server.stop());
  const database = await server.createDatabase();
  const sandbox = await startSandbox();
  parts.defer(() => sandbox.close());
  const provider = await ChaosProxy.start(sandbox.port);
  parts.defer(() => provider.close());
  const deaths: string[] = [];
  const gateways: TorturedGateway[] = [];
  const proxies: ChaosProxy[] = [];
  for (let i = 0; i < replicas; i++) {
    const dataDir = await mkdtemp(join(tmpdir(), 'gateway-torture-'));
    parts.defer(() => rm(dataDir, { recursive: true, force: true }));
    await writeFile(join(dataDir, 'gateway.yaml'), configFor(provider.port));
    const proxy = await ChaosProxy.start(server.port);
    parts.defer(() => proxy.close());
    const url = new URL(server.url(database));
    url.port = String(proxy.port);
    const gateway = new TorturedGateway(dataDir, { DATABASE_URL: url.href, GATEWAY_SECRET: SECRET }, workers, deaths);
    await gateway.start();
    parts.defer(() => gateway.kill());
    gateways.push(gateway);
    proxies.push(proxy);
  }
  const one = <T>(list: readonly T[], random: Random): T => {
    const chosen = random.pick(list);
    if (chosen === undefined) throw new Error('nothing to choose from');
    return chosen;
  };

  const opened = parts.move();
  return {
    name: `postgres, ${replicas} gateways, ${workers} ${workers === 1 ? 'worker' : 'workers'} each`,
    faults: [
      { name: 'kill -9', weight: 8, run: (random) => one(gateways, random).killAndStart(random) },
      {
        name: 'kill -9 of all',
        weight: 2,
        run: async () => {
          await Promise.all(gateways.map((gateway) => gateway.kill()));
          for (const gateway of gateways) await gateway.start();
          return gateways.length;
        },
      },
      {
        name: 'kill -9 of a worker',
        weight: workers > 1 ? 4 : 0,
        run: (random) => one(gateways, random).killWorker(random),
      },
      { name: 'frozen past its lease', weight: 3, run: (random) => one(gateways, random).freeze(random) },
      { name: 'drained and started', weight: 1, run: (random) => one(gateways, random).drainAndStart() },
      { name: 'PostgreSQL stopped at once', weight: 3, run: () => server.restart('immediate').then(() => 1) },
      { name: 'PostgreSQL restarted', weight: 1, run: () => server.restart('fast').then(() => 0) },
      { name: 'database connections cut', weight: 3, run: (random) => cut(one(proxies, random)) },
      {
        name: 'database answers lost',
        weight: 3,

        run: (random) => loseAnswers(one(proxies, random), random),
      },
      { name: 'database out of reach', weight: 2, run: (random) => sever(one(proxies, random), random) },
      { name: 'statement stalled in the database', weight: 1, run: () => stall(server, database) },
      { name: 'provider cut', weight: 2, run: () => cut(provider) },
    ],
    recoveryMs: LEASE_S * 1_000 + GIVEN_UP_MS + 120_000,
    origin: (client) => gateways[client % replicas]?.process.origin ?? '',
    get admin() {
      const [first] = gateways;
      if (first === undefined) throw new Error('there is no gateway');
      return first.process.admin;
    },
    charges: (keyIds) => postgresCharges(server, database, keyIds),
    deaths,
    get deadlocks() {
      return server.deadlocks;
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

async function loseAnswers(proxy: ChaosProxy, random: Random): Promise<number> {
  const count = random.between(1, 3);
  await Promise.race([random.chance(50) ? proxy.loseCommits(count) : proxy.loseAnswers(count), delay(2_000)]);
  // Where not so many came in time, none is lost after the fault is over.
  proxy.mend();
  return 0;
}

async function sever(proxy: ChaosProxy, random: Random): Promise<number> {
  proxy.sever();
  await delay(random.between(300, 3_000));
  proxy.mend();
  return 0;
}

/** Stops a process of the database in the middle of a batch until its gateway has given that up. */
async function stall(server: TestPostgres, database: string): Promise<number> {
  const pid = await server
    .query(
      database,
      `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND state <> 'idle'
        AND application_name = 'model-gateway requests' ORDER BY random() LIMIT 1`,
    )
    .then(([row]) => Number(row?.pid ?? 0));
  // Between two batches; the next fault is drawn.
  if (pid === 0) return 0;
  process.kill(pid, 'SIGSTOP');
  await delay(STALL_MS);
  process.kill(pid, 'SIGCONT');
  return 0;
}
