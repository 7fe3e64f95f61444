/** Alerts on a store of their own, with a clock that the test sets. */
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Alerts, type AlertsOptions } from '../../../src/alerts/alerts.ts';
import { SqlAlertStore } from '../../../src/alerts/sql-store.ts';
import type { AlertPolicy } from '../../../src/core/alert-policy.ts';
import { NO_LOG } from '../../../src/core/log.ts';
import { openLogFile } from '../../../src/ledger/sqlite/wal-file.ts';
import { openSqliteEngine } from '../../../src/operators/sqlite.ts';
import { adminFixture } from '../../support/admin-fixture.ts';
import { alertPolicy } from '../../support/alert-policy.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** More than any machine needs for an answer of its own. */
const PATIENCE_MS = 120_000;
export const SECRET = `whsec_${Buffer.from('a secret of thirty-two characters').toString('base64')}`;

export function policyOf(change: Partial<AlertPolicy>): AlertPolicy {
  const { PATH: commandPath = '/usr/bin:/bin' } = process.env;
  return alertPolicy({ commandPath, allowPrivate: true, ...change });
}

export interface World {
  readonly alerts: Alerts;
  readonly store: SqlAlertStore;
  readonly clock: { atMs: number };
  readonly service: ReturnType<typeof adminFixture>['service'];
  /** Another gateway on the same store. */
  another(around?: (store: SqlAlertStore) => SqlAlertStore): Alerts;
}

export function world(t: TestContext, policy: () => AlertPolicy | null, change: Partial<AlertsOptions> = {}): World {
  const { ledger, clock, operators, service } = adminFixture(t);
  const engine = openSqliteEngine({ file: join(temporaryFolder(), 'operators.db'), openLog: openLogFile });
  t.after(() => engine.close());
  const store = new SqlAlertStore(engine);
  const another = (around: (store: SqlAlertStore) => SqlAlertStore = (same) => same): Alerts =>
    new Alerts({
      store: around(store),
      ledger,
      trail: operators,
      policy,
      providers: async () => [],
      installationSecret: 'installation secret',
      log: NO_LOG,
      nowMs: () => clock.atMs,
      timeoutMs: PATIENCE_MS,
      ...change,
    });
  return { alerts: another(), store, clock, service, another };
}
