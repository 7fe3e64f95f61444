/** What both engines of the alerts' store promise, with several gateways on one store. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { Alert } from '../../src/alerts/alert.ts';
import { SqlAlertStore } from '../../src/alerts/sql-store.ts';
import { openPostgresStore } from '../../src/ledger/postgres/store.ts';
import { openLogFile } from '../../src/ledger/sqlite/wal-file.ts';
import { openPostgresEngine } from '../../src/operators/postgres.ts';
import { openSqliteEngine } from '../../src/operators/sqlite.ts';
import { Connection } from '../../src/storage/postgres/connection.ts';
import type { SqlEngine } from '../../src/storage/sql-engine.ts';
import { startPostgres } from '../support/postgres.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const server = await startPostgres();
after(() => server.stop());
const folder = temporaryFolder('gw-alerts');
let files = 0;

/** Two of them on the same store, as two gateways would have it. */
const ENGINES: Readonly<Record<string, () => Promise<readonly [SqlEngine, SqlEngine]>>> = {
  SQLite: async () => {
    const file = join(folder, `operators-${files++}.db`);
    const open = () => openSqliteEngine({ file, openLog: openLogFile });
    return [open(), open()];
  },
  PostgreSQL: async () => {
    const url = server.url(await server.createDatabase());
    await (await openPostgresStore({ url })).close();
    const open = () => openPostgresEngine(new Connection({ url, statementTimeoutMs: 120_000, lockTimeoutMs: 120_000 }));
    return [await open(), await open()];
  },
};

function alert(id: string, change: Partial<Alert> = {}): Alert {
  return { id, type: 'circuit.open', atMs: 1_000, accountIds: [], data: { provider: 'p' }, ...change };
}

for (const [name, open] of Object.entries(ENGINES)) {
  describe(`alerts in ${name}`, () => {
    const stores = async (): Promise<
      AsyncDisposable & { one: SqlAlertStore; two: SqlAlertStore; engines: readonly [SqlEngine, SqlEngine] }
    > => {
      const engines = await open();
      const [one, two] = engines.map((engine) => new SqlAlertStore(engine));
      assert.ok(one !== undefined && two !== undefined);
      return {
        one,
        two,
        engines,
        [Symbol.asyncDispose]: async () => {
          for (const engine of engines) await engine.close();
        },
      };
    };

    test('are stored once with their deliveries, whoever raises them', async () => {
      await using all = await stores();
      const raised = await Promise.all(
        [all.one, all.two, all.one, all.two].map((store) => store.raise(alert('a'), ['webhook x', 'command'], 1_000)),
      );
      assert.equal(raised.filter(Boolean).length, 1);
      assert.deepEqual(
        (await all.two.deliveries({ limit: 10, before: null, state: null, alertId: null }))
          .map(({ target }) => target)
          .sort(),
        ['command', 'webhook x'],
      );
      const [stored] = await all.one.alerts({ limit: 10, before: null, type: null });
      assert.deepEqual(JSON.parse(stored?.body ?? ''), {
        type: 'circuit.open',
        timestamp: '1970-01-01T00:00:01.000Z',
        data: { provider: 'p' },
      });
    });

    test('are leased to one at a time, until the lease is over', async () => {
      await using all = await stores();
      for (let index = 0; index < 6; index++) await all.one.raise(alert(`a${index}`), ['command'], 1_000);
      const leases = await Promise.all([all.one, all.two].map((store) => store.lease(2_000, 5_000, 4)));
      const ids = leases.flat().map(({ alertId }) => alertId);
      assert.equal(new Set(ids).size, ids.length);
      const rest = await all.two.lease(2_000, 5_000, 10);
      assert.equal(new Set([...ids, ...rest.map(({ alertId }) => alertId)]).size, 6);
      assert.equal(ids.length + rest.length, 6);
      assert.deepEqual(await all.one.lease(4_999, 9_000, 10), []);
      assert.equal((await all.two.lease(5_000, 9_000, 10)).length, 6);
    });

    const targetsDue = async (store: SqlAlertStore, ...query: Parameters<SqlAlertStore['dueTargets']>) =>
      (await store.dueTargets(...query)).map(({ target }) => target);

    test('are leased of one target alone, or raised with a lease; targets that wait are known, who waits longest first', async () => {
      await using all = await stores();
      await all.one.raise(alert('a'), ['webhook x', 'command'], 1_000);
      await all.one.raise(alert('b'), ['webhook x', 'webhook y'], 900);
      const named = (leased: Awaited<ReturnType<typeof all.one.lease>>) =>
        leased.map(({ alertId, target }) => `${alertId} ${target}`).sort();
      assert.deepEqual(await targetsDue(all.two, 899, 10), []);
      assert.deepEqual(await targetsDue(all.two, 1_000, 10), ['webhook x', 'webhook y', 'command']);
      assert.deepEqual(await targetsDue(all.two, 1_000, 1), ['webhook x']);
      assert.deepEqual(named(await all.two.lease(1_000, 5_000, 1, 'webhook x')), ['a webhook x']);
      assert.deepEqual(named(await all.one.lease(1_000, 5_000, 10, 'webhook x')), ['b webhook x']);
      assert.deepEqual(await targetsDue(all.one, 1_000, 10), ['webhook y', 'command']);
      await all.one.raise(alert('c'), ['slack z'], 1_000, 5_000);
      assert.deepEqual(await targetsDue(all.two, 4_999, 10), ['webhook y', 'command']);
      assert.deepEqual(named(await all.one.waitingOf('c')), ['c slack z']);
      assert.deepEqual(await targetsDue(all.one, 5_000, 10), ['webhook x', 'webhook y', 'command', 'slack z']);
    });

    test('are found a page at a time, the receivers of the operator before those of accounts', async () => {
      await using all = await stores();
      await all.one.raise(alert('a'), ['account x', 'account y', 'account y slack_1'], 1_000);
      await all.one.raise(alert('b'), ['account z', 'account y', 'webhook x', 'command'], 1_001);
      await all.one.raise(alert('c'), ['account w', 'slack x'], 900);
      const found: string[] = [];
      for (let after = null, page = null; page === null || page.length === 2; after = page.at(-1) ?? null) {
        page = await all.two.dueTargets(1_001, 2, after);
        found.push(...page.map(({ target }) => target));
      }
      const ofAccounts = ['account w', 'account x', 'account y', 'account y slack_1', 'account z'];
      assert.deepEqual(found, ['slack x', 'webhook x', 'command', ...ofAccounts]);
    });

    test('end delivered or dead, and are pruned only then', async () => {
      await using all = await stores();
      await all.one.raise(alert('a'), ['webhook x', 'webhook y', 'webhook z'], 1_000);
      const leased = await all.one.lease(1_000, 5_000, 10);
      const of = (target: string) => {
        const found = leased.find((delivery) => delivery.target === target);
        assert.ok(found);
        return found;
      };
      await all.one.delivered(of('webhook x'), 2_000);
      await all.one.failed(of('webhook y'), 'no answer', 8_000, 2_000);
      await all.one.failed(of('webhook z'), 'gone', null, 2_000);
      const query = { limit: 10, before: null, state: null, alertId: 'a' } as const;
      const state = async () =>
        (await all.two.deliveries(query))
          .map(({ target, state: at, attempts, error }) => [target, at, attempts, error])
          .sort();
      assert.deepEqual(await state(), [
        ['webhook x', 'delivered', 1, null],
        ['webhook y', 'pending', 1, 'no answer'],
        ['webhook z', 'dead', 1, 'gone'],
      ]);
      assert.deepEqual(await all.two.lease(7_999, 9_000, 10), []);
      assert.equal((await all.two.lease(8_000, 9_000, 10))[0]?.attempts, 1);
      // Whoever comes late does not make a delivery that was made fail.
      await all.two.failed(of('webhook x'), 'late', 9_000, 2_000);
      assert.deepEqual((await state())[0], ['webhook x', 'delivered', 1, null]);
      await all.one.prune(2_000);
      assert.deepEqual(await state(), [['webhook y', 'pending', 1, 'no answer']]);
    });

    test('wait no less for a target that is postponed, and no other does', async () => {
      await using all = await stores();
      await all.one.raise(alert('a'), ['slack x', 'slack y'], 1_000);
      await all.one.raise(alert('b'), ['slack x'], 9_000);
      const [delivered] = await all.one.lease(1_000, 5_000, 1, 'slack x');
      assert.ok(delivered !== undefined);
      await all.one.delivered(delivered, 1_000);
      await all.one.raise(alert('c'), ['slack x'], 1_000);
      await all.two.postpone('slack x', 7_000);
      const kept = await all.one.deliveries({ limit: 10, before: null, state: null, alertId: null });
      assert.deepEqual(kept.map(({ alertId, target, dueAtMs }) => `${alertId} ${target} ${dueAtMs}`).sort(), [
        'a slack x 1000',
        'a slack y 1000',
        'b slack x 9000',
        'c slack x 7000',
      ]);
    });

    test('wait behind one that failed last until that is due, half an hour at most, or until something is taken', async () => {
      await using all = await stores();
      const leased = async (nowMs: number) =>
        (await all.two.lease(nowMs, nowMs, 1, 'slack x')).map(({ alertId }) => alertId);
      for (const id of ['a', 'b']) await all.one.raise(alert(id), ['slack x', 'slack y'], 1_000);
      const [first] = await all.one.lease(1_000, 1_000, 1, 'slack x');
      assert.ok(first !== undefined);
      await all.one.failed(first, 'no answer', 8_000, 2_000);
      assert.deepEqual([await leased(7_999), await targetsDue(all.two, 7_999, 10)], [[], ['slack y']]);
      assert.deepEqual([await leased(8_000), await targetsDue(all.two, 8_000, 10)], [['a'], ['slack x', 'slack y']]);
      await all.one.failed(first, 'no answer', 90_000_000, 10_000);
      assert.deepEqual(await leased(1_809_999), []);
      assert.deepEqual(await leased(1_810_000), ['b']);
      await all.one.failed(first, 'no answer', 90_000_000, 2_000_000);
      assert.deepEqual(await leased(2_000_001), []);
      await all.one.raise(alert('c'), ['slack x'], 1_000);
      const [taken] = await all.one.waitingOf('c');
      assert.ok(taken !== undefined);
      await all.one.delivered(taken, 2_000_001);
      assert.deepEqual(await leased(2_000_001), ['b']);
    });

    test('for receivers that gateways of 0.2 do not know are left alone by these', async () => {
      await using all = await stores();
      const targets = ['webhook x', 'command', 'account a', 'slack x', 'email x', 'account a slack_1'];
      await all.one.raise(alert('a'), targets, 1_000);
      // What such a gateway asks for.
      const [old] = all.engines;
      const due = await old.read(`SELECT target FROM @alerts WHERE state = 'pending' AND due_at_ms <= $1`, [1_000]);
      assert.deepEqual(due.map(({ target }) => target).sort(), ['account a', 'command', 'webhook x']);
      assert.deepEqual((await targetsDue(all.two, 1_000, 10)).sort(), [...targets].sort());
      const query = { limit: 10, before: null, alertId: null } as const;
      assert.equal((await all.two.deliveries({ ...query, state: 'pending' })).length, 6);
      const [slack] = await all.one.lease(1_000, 5_000, 1, 'slack x');
      assert.ok(slack !== undefined);
      await all.one.failed(slack, 'no answer', 8_000, 2_000);
      await all.one.prune(2_000);
      assert.deepEqual(await all.two.lease(7_999, 9_000, 1, 'slack x'), []);
      const [again] = await all.two.lease(8_000, 9_000, 1, 'slack x');
      assert.deepEqual([again?.state, again?.attempts], ['pending', 1]);
      await all.two.failed(slack, 'gone', null, 9_000);
      assert.deepEqual(
        (await all.one.deliveries({ ...query, state: 'dead' })).map(({ target, error }) => [target, error]),
        [['slack x', 'gone']],
      );
    });

    test('leave behind when a receiver was reached last, and when and why it was not', async () => {
      await using all = await stores();
      await all.one.raise(alert('a'), ['slack x', 'email y'], 1_000);
      await all.one.raise(alert('b'), ['slack x'], 1_000);
      assert.deepEqual([...(await all.two.waiting())].sort(), [
        ['email y', 1],
        ['slack x', 2],
      ]);
      const [first, second] = await all.one.lease(1_000, 5_000, 2, 'slack x');
      assert.ok(first !== undefined && second !== undefined);
      assert.equal((await all.two.results(['slack x', 'email y'])).size, 0);
      await all.one.failed(first, 'no answer', 8_000, 2_000);
      await all.two.delivered(second, 3_000);
      await all.one.failed(first, 'still none', 9_000, 4_000);
      const results = await all.one.results(['slack x', 'email y']);
      assert.deepEqual([...results], [['slack x', { deliveredAtMs: 3_000, failedAtMs: 4_000, error: 'still none' }]]);
      assert.equal((await all.two.waiting()).get('slack x'), 1);
      await all.two.forgetTarget('slack x');
      const kept = await all.one.deliveries({ limit: 10, before: null, state: null, alertId: first.alertId });
      assert.equal(kept.find(({ target }) => target === 'slack x')?.error, null);
      assert.deepEqual([(await all.one.results(['slack x'])).size, (await all.one.results([])).size], [0, 0]);
    });

    test('of what was erased keep no names, in what was sent and in what waits', async () => {
      await using all = await stores();
      const about = (id: string, data: Alert['data']) => all.one.raise(alert(id, { data }), ['webhook x'], 1_000);
      await about('key', { level: 80, key: 'key_1', name: 'Ann', within_days: 1 });
      await about('account', { account: 'acct_1', name: 'Acme "Ltd"' });
      await about('other', { key: 'key_10', name: 'Bob' });
      await about('none', { provider: 'p', name: 'key_1' });
      // More than are read together.
      for (let index = 0; index < 6; index++) {
        const targets = Array.from({ length: 200 }, (_, target) => `webhook ${target}`);
        await all.one.raise(alert(`many-${index}`, { data: { key: 'key_2', name: `Eve ${index}` } }), targets, 1_000);
      }
      await all.two.forgetNames(new Set(['key_1', 'acct_1', 'key_2']));
      const stored = await all.one.alerts({ limit: 20, before: null, type: null });
      const kept = new Map(stored.map(({ id, body }) => [id, JSON.parse(body)]));
      const time = { type: 'circuit.open', timestamp: '1970-01-01T00:00:01.000Z' };
      const data = { level: 80, key: 'key_1', name: null, within_days: 1 };
      assert.deepEqual(kept.get('key'), { ...time, data });
      assert.deepEqual(kept.get('account'), { ...time, data: { account: 'acct_1', name: null } });
      assert.equal(kept.get('other').data.name, 'Bob');
      assert.equal(kept.get('none').data.name, 'key_1');
      const bodies = (await all.one.lease(1_000, 5_000, 2_000)).map(({ body }) => body);
      assert.equal(bodies.length, 4 + 6 * 200);
      assert.equal(bodies.filter((body) => /Ann|Acme|Eve/.test(body)).length, 0);
    });

    test('receivers of accounts are kept, no more than an account may have', async () => {
      await using all = await stores();
      const one = { accountId: 'a', kind: 'slack', shown: 'chat.example', sealedAddress: 's' } as const;
      assert.equal(await all.one.addReceiver({ ...one, id: 'slack_1' }, 2), true);
      assert.equal(await all.two.addReceiver({ ...one, id: 'email_2', kind: 'email' }, 2), true);
      assert.equal(await all.two.addReceiver({ ...one, id: 'slack_3' }, 2), false);
      assert.equal(await all.two.addReceiver({ ...one, id: 'slack_4', accountId: 'b' }, 2), true);
      await all.one.putWebhook({ accountId: 'c', url: 'https://one', sealedSecret: 's' });
      await all.one.putWebhook({ accountId: 'a', url: 'https://one', sealedSecret: 's' });
      assert.deepEqual(
        (await all.two.receivers(['a', 'x'])).map(({ id }) => id),
        ['email_2', 'slack_1'],
      );
      assert.deepEqual(await all.one.receiver('slack_4'), { ...one, id: 'slack_4', accountId: 'b' });
      assert.deepEqual([await all.one.receiver('slack_5'), await all.one.receivers([])], [null, []]);
      assert.deepEqual(await all.one.accountsWithReceivers('', 2), ['a', 'b']);
      assert.deepEqual(await all.one.accountsWithReceivers('b', 2), ['c']);
      assert.deepEqual(
        [await all.one.removeReceiver('b', 'slack_1'), await all.one.removeReceiver('a', 'slack_1')],
        [false, true],
      );
      assert.equal((await all.two.receivers(['a'])).length, 1);
    });

    test('are listed in pages, newest first', async () => {
      await using all = await stores();
      for (let index = 0; index < 5; index++) {
        await all.one.raise(
          alert(`a${index}`, { type: index === 2 ? 'alert.test' : 'circuit.open' }),
          ['command'],
          1_000,
        );
      }
      const [first, second] = await all.one.alerts({ limit: 2, before: null, type: null });
      assert.deepEqual([first?.id, second?.id], ['a4', 'a3']);
      const next = await all.one.alerts({ limit: 2, before: second?.number ?? 0, type: null });
      assert.deepEqual(
        next.map(({ id }) => id),
        ['a2', 'a1'],
      );
      const tests = await all.one.alerts({ limit: 5, before: null, type: 'alert.test' });
      assert.deepEqual(
        tests.map(({ id }) => id),
        ['a2'],
      );
    });

    test('one of several watches, until its lease is over', async () => {
      await using all = await stores();
      const both = await Promise.all([all.one.watchAs('one', 0, 100), all.two.watchAs('two', 0, 100)]);
      assert.equal(both.filter(Boolean).length, 1);
      const [first, other] = both[0] ? ['one', 'two'] : ['two', 'one'];
      assert.equal(await all.one.watchAs(String(first), 50, 200), true);
      assert.equal(await all.two.watchAs(String(other), 199, 300), false);
      assert.equal(await all.two.watchAs(String(other), 200, 300), true);
    });

    test('bases of balances and webhooks of accounts are kept', async () => {
      await using all = await stores();
      assert.equal(await all.one.base('key k'), null);
      await all.one.putBase('key k', { bought: 2n ** 62n, used: 0n });
      await all.two.putBase('key k', { bought: 2n ** 62n, used: 7n });
      assert.deepEqual(await all.one.base('key k'), { bought: 2n ** 62n, used: 7n });
      await all.one.putWebhook({ accountId: 'a', url: 'https://one', sealedSecret: 's' });
      await all.one.putWebhook({ accountId: 'a', url: 'https://two', sealedSecret: 't' });
      assert.deepEqual(await all.two.webhooks(['b', 'a']), [{ accountId: 'a', url: 'https://two', sealedSecret: 't' }]);
      assert.deepEqual([await all.two.removeWebhook('a'), await all.two.removeWebhook('a')], [true, false]);
      assert.deepEqual([await all.one.webhooks(['a']), await all.one.webhooks([])], [[], []]);
    });
  });
}
