/** What a gateway does when PostgreSQL fails, and what it says when it cannot be used at all. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { after, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createLedger, type OwnedLedger } from '../../../../src/ledger/ledger.ts';
import { recoverAll, startMaintenance } from '../../../../src/ledger/maintenance.ts';
import { openPostgresStore } from '../../../../src/ledger/postgres/store.ts';
import { StoreError } from '../../../../src/storage/errors.ts';
import { admitRequest, newKey, settleRequest, usageRecord } from '../../../contract/fixtures.ts';
import { ChaosProxy } from '../../../resilience/chaos/chaos-proxy.ts';
import { appFixture } from '../../../support/admin-app.ts';
import { freePort } from '../../../support/free-port.ts';
import { startPostgres } from '../../../support/postgres.ts';

const server = await startPostgres();
after(() => server.stop());
const template = await server.createDatabase();
await (await openPostgresStore({ url: server.url(template) })).close();

/** As a gateway does with a settlement: it is sent again until the store has an answer. */
async function insist<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      await pause(5);
    }
  }
}

describe('a failing connection', () => {
  async function behindProxy(t: { after(end: () => Promise<void>): void }) {
    const database = await server.createDatabase(template);
    const proxy = await ChaosProxy.start(server.port);
    const url = server.url(database).replace(String(server.port), String(proxy.port));
    const ledger = createLedger(await openPostgresStore({ url }));
    t.after(async () => {
      await ledger.close();
      await proxy.close();
    });
    await ledger.register();
    const key = await ledger.createKey(newKey({ credit: 100n, rpmLimit: 100 }));
    return { database, proxy, ledger, key };
  }

  test('[F5] cut after the commit, before the acknowledgement: an error, and a retry finds what was done', async (t) => {
    const { proxy, ledger, key } = await behindProxy(t);
    const request = admitRequest(key.id, 'h1', 5n, { claim: { name: 'c', fingerprint: 'f' } });
    const settlement = settleRequest(key.id, 'h1', 3n, { usage: usageRecord() });
    for (const work of [() => ledger.admit(request), () => ledger.settle(settlement)]) {
      // The proxy spares the first answers of a connection, which belong to its opening.
      for (let i = 0; i < 6; i++) await insist(() => ledger.ping());
      const lost = proxy.loseCommits(1);
      await assert.rejects(work(), StoreError);
      await lost;
    }
    const admitted = await insist(() => ledger.admit(request));
    assert.deepEqual(admitted, {
      kind: 'admitted',
      rate: { limit: 100, remaining: 99, resetMs: admittedReset(admitted) },
      held: 5n,
    });
    assert.deepEqual(await insist(() => ledger.settle(settlement)), { kind: 'already_settled', charged: 3n });
    const summary = await ledger.summary(key.id);
    assert.deepEqual([summary?.used, summary?.reserved, summary?.requests], [3n, 0n, 1]);
    assert.deepEqual((await insist(() => ledger.audit())).findings, []);
  });

  test('[F53] cut between loading and saving: nothing of the batch is done, and sent again it is done once', async (t) => {
    const { proxy, ledger, key } = await behindProxy(t);
    const other = admitRequest(key.id, 'h2', 1n);
    assert.equal((await ledger.admit(admitRequest(key.id, 'h1', 5n))).kind, 'admitted');
    for (let i = 0; i < 6; i++) await insist(() => ledger.ping());
    const lost = proxy.loseAnswers(1);
    const batch = await Promise.allSettled([ledger.settle(settleRequest(key.id, 'h1', 3n)), ledger.admit(other)]);
    assert.deepEqual(
      batch.map(({ status }) => status),
      ['rejected', 'rejected'],
    );
    await lost;
    const summary = await insist(() => ledger.summary(key.id));
    assert.deepEqual([summary?.used, summary?.reserved, summary?.liveHolds], [0n, 5n, 1]);
    assert.deepEqual(await ledger.settle(settleRequest(key.id, 'h1', 3n)), { kind: 'settled', charged: 3n });
    assert.equal((await ledger.admit(other)).kind, 'admitted');
    assert.deepEqual((await insist(() => ledger.audit())).findings, []);
  });

  test('[F5] a purchase whose connection was cut is booked once when it is sent again', async (t) => {
    const { proxy, ledger, key } = await behindProxy(t);
    const lost = proxy.loseCommits(1);
    await assert.rejects(ledger.addCredit(key.id, 'order-1', 7n, null), StoreError);
    await lost;
    const added = await insist(() => ledger.addCredit(key.id, 'order-1', 7n, null));
    assert.equal(added.kind === 'added' && added.balance, 107n);
  });

  test('[F6] nothing is admitted while the database cannot be reached; it comes back by itself', async (t) => {
    const { proxy, ledger, key } = await behindProxy(t);
    proxy.sever();
    for (let i = 0; i < 5; i++) await assert.rejects(ledger.admit(admitRequest(key.id, 'h1', 1n)), StoreError);
    await assert.rejects(ledger.ping(), StoreError);
    proxy.mend();
    assert.equal((await insist(() => ledger.admit(admitRequest(key.id, 'h1', 1n)))).kind, 'admitted');
  });

  test('a charge that the database did not take is in the backlog until it has', async (t) => {
    const { proxy, ledger, key } = await behindProxy(t);
    const backlog = async () => (await ledger.stats())?.backlog;
    assert.equal((await ledger.admit(admitRequest(key.id, 'h1', 5n))).kind, 'admitted');
    proxy.sever();
    await assert.rejects(ledger.settle(settleRequest(key.id, 'h1', 3n)), StoreError);
    assert.equal(await backlog(), 1);
    await assert.rejects(ledger.settle(settleRequest(key.id, 'h1', 3n)), StoreError);
    assert.equal(await backlog(), 1);
    proxy.mend();
    await insist(() => ledger.settle(settleRequest(key.id, 'h1', 3n)));
    assert.equal(await backlog(), 0);
  });

  test('an idle connection that was cut is opened anew without an error', async (t) => {
    const { database, ledger, key } = await behindProxy(t);
    await server.query(
      'postgres',
      `SELECT pg_terminate_backend(pid, 100000) FROM pg_stat_activity WHERE datname = '${database}'`,
    );
    // The cut reaches this side with the next turn of the loop or a few later.
    assert.equal((await insist(() => ledger.admit(admitRequest(key.id, 'h1', 1n)))).kind, 'admitted');
    assert.equal((await ledger.settle(settleRequest(key.id, 'h1', 1n))).kind, 'settled');
  });

  test('[F7] a database that does not answer is an error after a bounded wait; what it does later is done once', async (t) => {
    const database = await server.createDatabase(template);
    const url = server.url(database);
    const patient = createLedger(await openPostgresStore({ url }));
    const key = await patient.createKey(newKey({ credit: 100n }));
    await patient.close();
    // A busy machine may need longer for what is not stopped as well: that is sent again.
    const ledger = createLedger(await insist(() => openPostgresStore({ url, timeoutMs: 200 })));
    t.after(() => ledger.close());
    await insist(() => ledger.register());
    const [hot] = await server.query(
      'postgres',
      `SELECT pid FROM pg_stat_activity WHERE datname = '${database}' AND application_name = 'model-gateway requests'
        ORDER BY backend_start DESC`,
    );
    const pid = Number(hot?.pid);
    process.kill(pid, 'SIGSTOP');
    try {
      await assert.rejects(ledger.admit(admitRequest(key.id, 'h1', 60n)), /no answer within 400 ms/);
      assert.equal((await insist(() => ledger.admit(admitRequest(key.id, 'h1', 60n)))).kind, 'admitted');
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    const gone = `SELECT 1 FROM pg_stat_activity WHERE pid = ${pid}`;
    while ((await server.query('postgres', gone)).length > 0) await pause(5);
    const summary = await insist(() => ledger.summary(key.id));
    assert.deepEqual([summary?.reserved, summary?.liveHolds], [60n, 1]);
  });

  test('[F7] a server that hangs: what an operator asks is a 503 after a bounded wait, and answered when it goes on', async (t) => {
    const url = server.url(await server.createDatabase(template));
    const store = await insist(() => openPostgresStore({ url, timeoutMs: 200, answerTimeoutMs: 100 }));
    const ledger = createLedger(store);
    t.after(() => ledger.close());
    const { send } = await appFixture(t, { ledger });
    const key = await insist(() => ledger.createKey(newKey({ credit: 5n })));
    // The first of the same key finds a connection, the second one has to make it.
    const reads = ['/usage', '/usage?by=account,day', '/keys', `/keys/${key.id}`, `/keys/${key.id}`, '/accounts'];
    const goOn = await server.freeze();
    t.after(goOn);
    for (const read of reads) {
      const { status, body } = await send('GET', read);
      assert.deepEqual([read, status, body.error.code], [read, 503, 'unavailable']);
      assert.match(body.error.message, /does not answer: ask again later/);
    }
    goOn();
    for (const read of reads) {
      let status = 503;
      for (; status === 503; await pause(5)) ({ status } = await send('GET', read));
      assert.deepEqual([read, status], [read, 200]);
    }
  });

  test('a report that takes long is waited for as long as the server answers, and given up when it hangs', async (t) => {
    const database = await server.createDatabase(template);
    const proxy = await ChaosProxy.start(server.port);
    t.after(() => proxy.close());
    const url = server.url(database).replace(String(server.port), String(proxy.port));
    const ledger = createLedger(await openPostgresStore({ url, lockTimeoutMs: 600_000, answerTimeoutMs: 100 }));
    t.after(() => ledger.close());
    const other = await server.connect(database);
    t.after(() => other.end());
    await other.query('BEGIN; LOCK TABLE gateway.accounts IN ACCESS EXCLUSIVE MODE');
    // On a busy machine even a server that is not stopped may need longer for its answer: then the report is asked for again.
    let ended = true;
    let report: Promise<unknown> = Promise.resolve();
    for (let until = 0; ended || proxy.joined < until; await pause(5)) {
      if (!ended) continue;
      ended = false;
      until = proxy.joined + 4;
      report = ledger.listKeys().catch((error: unknown) => {
        ended = true;
        return error;
      });
    }
    const goOn = await server.freeze();
    t.after(goOn);
    assert.match(String(await report), /the database does not answer/);
    goOn();
    await other.query('ROLLBACK');
    assert.deepEqual(await insist(() => ledger.listKeys()), []);
  });
});

function admittedReset(outcome: {
  readonly kind: string;
  readonly rate?: { readonly resetMs: number } | null;
}): number {
  const resetMs = outcome.rate?.resetMs ?? -1;
  assert.ok(resetMs > 0 && resetMs <= 60_000);
  return resetMs;
}

describe('PostgreSQL restarted under load', () => {
  for (const mode of ['fast', 'immediate'] as const) {
    test(`[F30] [F7] ${mode}: two gateways go on by themselves, and every settlement is charged once`, async () => {
      const database = await server.createDatabase(template);
      const url = server.url(database);
      const ledgers = await Promise.all([0, 1].map(async () => createLedger(await openPostgresStore({ url }))));
      const maintenance = await Promise.all(ledgers.map((ledger) => startMaintenance(ledger)));
      const [first] = ledgers as [OwnedLedger, OwnedLedger];
      const key = await first.createKey(newKey({ credit: 1_000_000n }));
      let settled = 0;
      let restarted = false;
      const settledEnough = new Promise<void>((resolve) => {
        const check = setInterval(() => {
          if (settled < 200) return;
          clearInterval(check);
          resolve();
        }, 1);
      });
      const client = async (ledger: OwnedLedger): Promise<void> => {
        for (let after = 0; after < 20; after += restarted ? 1 : 0) {
          const id = randomUUID();
          const outcome = await insist(() => ledger.admit(admitRequest(key.id, id, 10n)));
          assert.equal(outcome.kind, 'admitted');
          const end = await insist(() => ledger.settle(settleRequest(key.id, id, 3n, { usage: usageRecord() })));
          assert.match(end.kind, /^(already_)?settled$/);
          settled++;
        }
      };
      const clients = ledgers.flatMap((ledger) => Array.from({ length: 8 }, () => client(ledger)));
      await settledEnough;
      await server.restart(mode);
      restarted = true;
      await Promise.all(clients);
      await recoverAll(first);
      const summary = await first.summary(key.id);
      assert.deepEqual([summary?.used, summary?.reserved, summary?.requests], [BigInt(settled) * 3n, 0n, settled]);
      assert.deepEqual((await insist(() => first.audit())).findings, []);
      for (const { stop } of maintenance) await stop();
      for (const ledger of ledgers) await ledger.close();
    });
  }
});

describe('a database that cannot be used is one line that says what to do', () => {
  const refused = (url: string, line: RegExp) =>
    assert.rejects(openPostgresStore({ url }), (error) => {
      assert.ok(error instanceof StoreError);
      assert.match(error.message, line);
      assert.doesNotMatch(error.message, /\n|s3cret/);
      return true;
    });

  test('nothing listens', async () => {
    await refused(
      `postgres://u:s3cret@127.0.0.1:${await freePort()}/db`,
      /Cannot use .*:\d+\/db .*ECONNREFUSED.*start PostgreSQL/,
    );
  });

  test('it is no PostgreSQL', async () => {
    const other = createServer((socket) => socket.end('SSH-2.0-OpenSSH\r\n')).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = other.address();
    await refused(`postgres://u:s3cret@127.0.0.1:${typeof address === 'object' ? address?.port : 0}/db`, /^Cannot use/);
    other.close();
  });

  test('no such host, database or user', async () => {
    await refused('postgres://u:s3cret@no-such-host.invalid/db', /correct the host|name service/);
    await refused(server.url('missing'), /database "missing" does not exist.*CREATE DATABASE/);
    await refused(server.url('postgres', 'nobody-here'), /role "nobody-here" does not exist.*correct the user/);
  });

  test('a missing privilege: to create the schema, and to use it', async () => {
    await server.query('postgres', 'CREATE ROLE plain LOGIN');
    const empty = await server.createDatabase();
    await refused(server.url(empty, 'plain'), /permission denied.*GRANT CREATE ON DATABASE/);
    await refused(server.url(await server.createDatabase(template), 'plain'), /permission denied.*"gateway"/);
  });

  test('a user without the right to create may use what is there', async () => {
    const database = await server.createDatabase(template);
    await server.query('postgres', 'CREATE ROLE worker LOGIN');
    await server.query(
      database,
      `GRANT USAGE ON SCHEMA gateway TO worker; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA gateway TO worker;
      GRANT USAGE ON ALL SEQUENCES IN SCHEMA gateway TO worker`,
    );
    const ledger = createLedger(await openPostgresStore({ url: server.url(database, 'worker') }));
    const key = await ledger.createKey(newKey({ credit: 5n }));
    assert.equal((await ledger.admit(admitRequest(key.id, 'h1', 1n))).kind, 'admitted');
    await ledger.close();
  });

  test('a server that only reads', async () => {
    const database = await server.createDatabase();
    await server.query('postgres', `ALTER DATABASE ${database} SET default_transaction_read_only = on`);
    await refused(server.url(database), /read-only.*primary/);
  });

  test('a gateway with another GATEWAY_SECRET than the others, or without it', async () => {
    const one = 'a secret of at least thirty-two characters';
    const given = server.url(await server.createDatabase(template));
    const stored = server.url(await server.createDatabase(template));
    const store = await openPostgresStore({ url: given });
    const other = await openPostgresStore({ url: stored });
    assert.equal(await store.sharedSecret(one), one);
    assert.equal(await store.sharedSecret(one), one);
    await assert.rejects(store.sharedSecret(`${one}!`), /GATEWAY_SECRET differs/);
    await assert.rejects(store.sharedSecret(null), /set it to the same value here/);
    const made = await other.sharedSecret(null);
    await assert.rejects(other.sharedSecret(one), /start without GATEWAY_SECRET/);
    assert.equal(await other.sharedSecret(made), made);
    await store.close();
    await other.close();
  });
});
