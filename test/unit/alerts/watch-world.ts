import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Alerts, type AlertsOptions } from '../../../src/alerts/alerts.ts';
import type { WatchedProvider } from '../../../src/alerts/provider-watch.ts';
import { SqlAlertStore } from '../../../src/alerts/sql-store.ts';
import { NO_LOG } from '../../../src/core/log.ts';
import { openLogFile } from '../../../src/ledger/sqlite/wal-file.ts';
import { openSqliteEngine } from '../../../src/operators/sqlite.ts';
import { admitRequest, settleRequest } from '../../contract/fixtures.ts';
import { adminFixture } from '../../support/admin-fixture.ts';
import { alertPolicy } from '../../support/alert-policy.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

export const POLICY = alertPolicy();
export const CREDIT = 1_000_000_000n;

/** A gateway that watches a ledger, with what tests do to both. */
export function watchWorld(t: TestContext) {
  const { ledger, clock, operators, service } = adminFixture(t);
  const engine = openSqliteEngine({ file: join(temporaryFolder(), 'operators.db'), openLog: openLogFile });
  t.after(() => engine.close());
  const store = new SqlAlertStore(engine);
  let providers: readonly WatchedProvider[] = [];
  const gateway = (change: Partial<AlertsOptions> = {}): Alerts =>
    new Alerts({
      store,
      ledger,
      trail: operators,
      policy: () => POLICY,
      providers: async () => providers,
      installationSecret: 'installation secret',
      log: NO_LOG,
      nowMs: () => clock.atMs,
      ...change,
    });
  const alerts = gateway();
  let seen = 0;
  return {
    ledger,
    service,
    clock,
    store,
    gateway,
    see: (states: readonly WatchedProvider[]): void => {
      providers = states;
    },
    spend: async (keyId: string, amount: bigint, tokens = 0n): Promise<void> => {
      const holdId = randomUUID();
      const { version } = (await ledger.getKey(keyId))?.key ?? { version: 1 };
      const hold = { id: holdId, amount, amountMin: amount, tokens, tokensMin: tokens, ttlMs: 600_000 };
      const admitted = await ledger.admit(admitRequest(keyId, holdId, amount, { keyVersion: version, hold }));
      assert.equal(admitted.kind, 'admitted');
      const settled = await ledger.settle(settleRequest(keyId, holdId, amount, { chargeTokens: tokens }));
      assert.equal(settled.kind, 'settled');
    },
    /** What is new since the last time. */
    look: async (by: Alerts = alerts): Promise<readonly Record<string, unknown>[]> => {
      await by.watch();
      const all = await store.alerts({ limit: 100, before: null, type: null });
      const fresh = all.slice(0, all.length - seen).toReversed();
      seen = all.length;
      return fresh.map(({ type, body }) => ({ type, ...JSON.parse(body).data }));
    },
  };
}
