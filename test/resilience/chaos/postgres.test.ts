/** Two gateway processes on one PostgreSQL under load, with everything that can happen to them and to it. */
import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Sandbox, startSandbox } from '../../../src/sandbox/server.ts';
import { type GatewayProcess, gatewayProcess } from '../../support/gateway-process.ts';
import { overlapping } from '../../support/overlap.ts';
import { startPostgres, type TestPostgres } from '../../support/postgres.ts';
import { type StartedGateway, startedGateway } from '../../support/started-gateway.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { gatedUpstream } from '../../support/upstreams/gated.ts';
import { ChaosProxy } from './chaos-proxy.ts';
import { assertBooks, farProvider, keyWhen, Load, MODEL, newJobs, until } from './load.ts';

const JOBS = 16;
const LEASE_S = 2;
const MINUTE_MS = 60_000;
const SECRET = 'an installation secret for tests only';

interface Replica {
  readonly dataDir: string;
  /** Between this gateway and the database. */
  readonly proxy: ChaosProxy;
  process: GatewayProcess;
}

let server: TestPostgres;
let database: string;
let sandbox: Sandbox;

function urlThrough(proxy: ChaosProxy): string {
  const url = new URL(server.url(database));
  url.port = String(proxy.port);
  return url.href;
}

function startReplica(dataDir: string, proxy: ChaosProxy): Promise<GatewayProcess> {
  return gatewayProcess(dataDir, {
    DATABASE_URL: urlThrough(proxy),
    GATEWAY_SECRET: SECRET,
    GATEWAY_LEASE_SECONDS: String(LEASE_S),
  });
}

async function replica(): Promise<Replica> {
  const dataDir = temporaryFolder('gateway-chaos');
  await writeFile(join(dataDir, 'gateway.yaml'), farProvider(sandbox.port));
  const proxy = await ChaosProxy.start(server.port);
  return { dataDir, proxy, process: await startReplica(dataDir, proxy) };
}

describe('gateways on one PostgreSQL', () => {
  before(async () => {
    server = await startPostgres();
    database = await server.createDatabase();
    sandbox = await startSandbox();
  });
  after(async () => {
    await sandbox.close();
    await server.stop();
  });

  describe('two under load', () => {
    let left: Replica;
    let right: Replica;
    const spread = (job: number): string => (job % 2 === 0 ? left : right).process.origin;

    before(async () => {
      left = await replica();
      right = await replica();
    });
    after(async () => {
      for (const { process, proxy, dataDir } of [left, right]) {
        await process.kill('SIGKILL');
        await proxy.close();
        await rm(dataDir, { recursive: true, force: true });
      }
    });

    test('[F5] [F7] connections to the database cut, before and after it has committed: each charge is made once', async () => {
      const jobs = await newJobs(left.process.admin, JOBS);
      const load = new Load(jobs, spread);
      await load.frames(JOBS * 10);
      await Promise.all([left.proxy.loseAnswers(3), right.proxy.loseAnswers(3)]);
      left.proxy.cut();
      right.proxy.cut();
      await load.ended;
      await assertBooks(left.process.admin, jobs);
    });

    test('[F30] PostgreSQL crashes and comes back: the audit is clean, every complete answer is charged once', async () => {
      const jobs = await newJobs(left.process.admin, JOBS);
      const load = new Load(jobs, spread);
      await load.frames(JOBS * 20);
      await server.restart('immediate');
      await load.ended;
      const { complete } = await assertBooks(left.process.admin, jobs);
      assert.ok(complete > 0, 'streams that ran at that moment were seen to their end');
    });

    test('[F10] one is frozen past its lease: the other ends its holds, and when it wakes up nothing is applied twice', async () => {
      const jobs = await newJobs(right.process.admin, JOBS);
      const load = new Load(jobs, (job) => (job === 0 ? left : right).process.origin);
      await load.frames(JOBS * 30);
      right.process.child.kill('SIGSTOP');
      // The second job runs on the right; only somebody else can end its hold now.
      await keyWhen(left.process.admin, jobs[1]?.key.id ?? '', (view) => view.live_holds === 0);
      right.process.child.kill('SIGCONT');
      await load.ended;
      await assertBooks(left.process.admin, jobs);
    });

    test('[F1] [F2] [F3] [F30] one is killed: the other recovers what it held, and its clients go on there', async () => {
      const jobs = await newJobs(left.process.admin, JOBS);
      let living = (job: number): Replica => (job % 2 === 0 ? left : right);
      const load = new Load(jobs, (job) => living(job).process.origin);
      await load.frames(JOBS * 30);
      living = () => left;
      await right.process.kill('SIGKILL');
      await load.ended;
      await assertBooks(left.process.admin, jobs);
      right.process = await startReplica(right.dataDir, right.proxy);
      await assertBooks(right.process.admin, jobs);
    });
  });

  describe('one whose statement is stopped in the database until it has given it up', { concurrency: true }, () => {
    for (const leaseS of [3, 15]) {
      test(`[F6] [F21] with a lease of ${leaseS} s: what the statement would have held is not held when it goes on`, async (t) => {
        const own = await server.createDatabase();
        const dataDir = temporaryFolder('gateway-chaos');
        await writeFile(join(dataDir, 'gateway.yaml'), farProvider(sandbox.port));
        const gateway = await gatewayProcess(dataDir, {
          DATABASE_URL: server.url(own),
          GATEWAY_SECRET: SECRET,
          GATEWAY_LEASE_SECONDS: String(leaseS),
        });
        t.after(() => gateway.kill('SIGKILL'));
        const key = await gateway.admin.createKey({ mode: 'credit', credit: '1' });
        const ask = async (name: string): Promise<number> => {
          const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
            method: 'POST',
            headers: {
              'content-type': 'application/json',
              authorization: `Bearer ${key.key}`,
              'idempotency-key': name,
            },
            body: JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'Hello' }] }),
          }).catch((cause: unknown) => {
            throw new Error(`the gateway gave no answer; it wrote: ${gateway.output()}`, { cause });
          });
          await response.arrayBuffer();
          return response.status;
        };
        assert.equal(await ask('before'), 200);
        const stopped = async (name: string): Promise<number> => {
          let pid = 0;
          await until(async () => {
            const [hot] = await server.query(
              'postgres',
              `SELECT pid FROM pg_stat_activity WHERE datname = '${own}' AND application_name = 'model-gateway requests'
                ORDER BY backend_start DESC`,
            );
            pid = Number(hot?.pid ?? 0);
            return pid > 0;
          });
          assert.ok(pid > 0);
          process.kill(pid, 'SIGSTOP');
          try {
            const status = await ask(name);
            if (status === 503)
              await until(async () => (await server.query(own, 'SELECT 1 FROM gateway.voided')).length > 0);
            return status;
          } finally {
            process.kill(pid, 'SIGCONT');
            const running = `SELECT 1 FROM pg_stat_activity WHERE pid = ${pid}`;
            await until(async () => (await server.query('postgres', running)).length === 0);
          }
        };
        // Where the renewal of the lease came first, its statement is the one that was stopped, and the request waited for it.
        let name = 'once';
        for (let tries = 1; (await stopped(name)) !== 503; name = `once-${tries}`, tries++)
          assert.ok(tries < 10, 'the statement of a request was never the one that was stopped');
        const { live_holds: live, reserved } = await gateway.admin.showKey(key.id);
        assert.deepEqual([live, reserved], [0, 0]);
        assert.equal(await ask(name), 200, 'its Idempotency-Key is free');
        assert.deepEqual((await gateway.admin.audit()).findings, []);
      });
    }
  });

  describe('four', () => {
    test('[F27] [R11] never more than the limit is admitted over all of them, and none when the limiter cannot be asked', async () => {
      const proxy = await ChaosProxy.start(server.port);
      const env = { DATABASE_URL: urlThrough(proxy), GATEWAY_SECRET: SECRET };
      const replicas: StartedGateway[] = [];
      await using upstream = await gatedUpstream();
      try {
        for (let i = 0; i < 4; i++) replicas.push(await startedGateway({ env, config: upstream.config }));
        const [first] = replicas;
        assert.ok(first);
        const limit = 7;
        const key = await first.creditKey({ rpm_limit: limit });
        const askOne = (index: number, model = 'sandbox/alpha', stream = false) =>
          fetch(`${replicas[index % 4]?.origin}/v1/chat/completions`, {
            method: 'POST',
            headers: { 'content-type': 'application/json', authorization: `Bearer ${key.key}` },
            body: JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'Hello' }] }),
          });
        const statusOf = async (answer: Response | Promise<Response>): Promise<number> => {
          const response = await answer;
          await response.arrayBuffer();
          return response.status;
        };
        const askAll = () => Promise.all(Array.from({ length: 40 }, (_, index) => statusOf(askOne(index))));
        // The end of this stream and the admissions of the three others have read the account before one of them writes.
        const firstAtMs = performance.now();
        const streaming = askOne(0, 'gated/one', true);
        const provider = await upstream.next();
        provider.begin();
        const stream = await streaming;
        const met = await overlapping(server, database, ['accounts', 'rates', 'holds'], 4, () => {
          provider.finish();
          return Promise.all([stream, ...[1, 2, 3].map((index) => askOne(index))].map(statusOf));
        });
        assert.deepEqual(met, [200, 200, 200, 200]);
        const statuses = await askAll();
        const admitted = statuses.filter((status) => status === 200).length;
        // On a machine that needs a minute for this, the first ones may count no more.
        if (performance.now() - firstAtMs < MINUTE_MS) assert.equal(admitted, limit - 4, String(statuses));
        assert.ok(admitted <= limit, String(statuses));
        assert.equal(statuses.filter((status) => status === 429).length, 40 - admitted, String(statuses));
        assert.deepEqual((await first.audit()).findings, []);
        proxy.sever();
        assert.deepEqual([...new Set(await askAll())], [503]);
        proxy.mend();
      } finally {
        for (const gateway of replicas) await gateway[Symbol.asyncDispose]();
        await proxy.close();
      }
    });
  });
});
