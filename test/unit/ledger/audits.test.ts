/** Scheduled audits: when one is due, who of several gateways runs it, and who is told what came of it. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Alerts } from '../../../src/alerts/alerts.ts';
import { SqlAlertStore } from '../../../src/alerts/sql-store.ts';
import type { AlertPolicy } from '../../../src/core/alert-policy.ts';
import { type Log, NO_LOG } from '../../../src/core/log.ts';
import { DAY_MS } from '../../../src/core/time.ts';
import { Audits } from '../../../src/ledger/audits.ts';
import type { AuditReport } from '../../../src/ledger/port.ts';
import { openLogFile } from '../../../src/ledger/sqlite/wal-file.ts';
import { openSqliteEngine } from '../../../src/operators/sqlite.ts';
import { adminFixture } from '../../support/admin-fixture.ts';
import { alertPolicy } from '../../support/alert-policy.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const NOBODY = alertPolicy();

interface Gateway {
  readonly alerts: Alerts;
  readonly audits: Audits;
}

interface World {
  readonly clock: { atMs: number };
  /** How many audits were run, and what the next ones are to find beside the truth. */
  readonly audit: { count: number; findings: string[]; failure: Error | null };
  readonly logged: string[];
  /** A gateway that shares its store with the others. */
  gateway(everyMs?: () => number | null): Gateway;
}

function world(t: TestContext, policy: AlertPolicy | null = null): World {
  const { ledger, clock, operators } = adminFixture(t);
  const engine = openSqliteEngine({ file: join(temporaryFolder(), 'operators.db'), openLog: openLogFile });
  t.after(() => engine.close());
  const store = new SqlAlertStore(engine);
  const audit: World['audit'] = { count: 0, findings: [], failure: null };
  const logged: string[] = [];
  const note = (_: object, line: string): number => logged.push(line);
  const log: Log = { ...NO_LOG, info: note, error: note };
  const nowMs = (): number => clock.atMs;
  const audited = {
    ...ledger,
    audit: async (): Promise<AuditReport> => {
      audit.count += 1;
      if (audit.failure !== null) throw audit.failure;
      const report = await ledger.audit();
      const findings = [...report.findings, ...audit.findings];
      return { ...report, ok: findings.length === 0, findings };
    },
  };
  const gateway: World['gateway'] = (everyMs = () => DAY_MS) => {
    const alerts = new Alerts({
      store,
      ledger,
      trail: operators,
      policy: () => policy,
      providers: async () => [],
      installationSecret: 'installation secret',
      log: NO_LOG,
      nowMs,
    });
    return { alerts, audits: new Audits({ ledger: audited, alerts, everyMs, log, nowMs }) };
  };
  return { clock, audit, logged, gateway };
}

test('the ledger is audited when it was never, and again when the time is up', async (t) => {
  const { clock, audit, logged, gateway } = world(t);
  const { audits } = gateway();
  assert.equal(await audits.read(), null);
  await audits.look();
  assert.equal(audit.count, 1);
  assert.equal(audits.last?.ok, true);
  assert.equal(audits.last.atMs, clock.atMs);
  assert.deepEqual(logged, ['the audit found nothing wrong']);
  clock.atMs += DAY_MS - 1;
  await audits.look();
  assert.equal(audit.count, 1);
  clock.atMs += 1;
  await audits.look();
  assert.equal(audit.count, 2);
});

test('an audit on request counts: the next one is due when its time is up after that', async (t) => {
  const { clock, audit, gateway } = world(t);
  const { audits } = gateway();
  await audits.look();
  clock.atMs += DAY_MS / 2;
  await audits.run();
  clock.atMs += DAY_MS / 2;
  await audits.look();
  assert.equal(audit.count, 2);
});

test('without a schedule there is no audit but on request', async (t) => {
  const { audit, gateway } = world(t);
  const { audits } = gateway(() => null);
  await audits.look();
  assert.equal(audit.count, 0);
  assert.equal((await audits.run()).ok, true);
});

test('of several gateways on a store one runs the audit, and all of them know what came of it', async (t) => {
  const { clock, audit, gateway } = world(t);
  const gateways = [gateway(), gateway(), gateway()];
  for (let day = 1; day <= 3; day += 1) {
    await Promise.all(gateways.map(({ audits }) => audits.look()));
    assert.equal(audit.count, day);
    await Promise.all(gateways.map(({ audits }) => audits.look()));
    assert.deepEqual(
      gateways.map(({ audits }) => audits.last?.atMs),
      [clock.atMs, clock.atMs, clock.atMs],
    );
    clock.atMs += DAY_MS;
  }
});

test('findings raise one alert of the type audit.failed and are kept, the first of them by their text', async (t) => {
  const { audit, logged, gateway } = world(t, NOBODY);
  const first = gateway();
  audit.findings = Array.from({ length: 30 }, (_, index) => `key k${index}: 1 is missing`);
  await first.audits.look();
  await first.audits.run();
  const raised = await first.alerts.list({ type: 'audit.failed', limit: 10, before: null });
  assert.equal(raised.length, 1);
  assert.match(String(raised[0]?.body), /"count":30/);
  const known = await gateway().audits.read();
  assert.deepEqual([known?.ok, known?.findings.length, known?.findingCount], [false, 20, 30]);
  assert.deepEqual(new Set(logged), new Set(['the audit found sums that do not add up']));
});

test('an audit that failed, or ended with its process, is made up for, later and later, at most at the usual times', async (t) => {
  const { clock, audit, gateway } = world(t);
  const { audits } = gateway();
  audit.failure = new Error('the database is gone');
  await assert.rejects(audits.look(), /the database is gone/);
  audit.failure = null;
  await audits.look();
  assert.equal(audit.count, 1, 'it may still be running elsewhere');
  clock.atMs += 900_000;
  audit.failure = new Error('canceling statement due to statement timeout');
  await assert.rejects(gateway().audits.look(), /timeout/);
  assert.equal(audit.count, 2);
  for (const waitMs of [2 * 900_000, 4 * 900_000]) {
    clock.atMs += waitMs - 1;
    await audits.look();
    clock.atMs += 1;
    await assert.rejects(audits.look(), /timeout/);
  }
  assert.equal(audit.count, 4);
  audit.failure = null;
  clock.atMs += DAY_MS;
  await audits.look();
  assert.deepEqual([audit.count, audits.last?.ok], [5, true]);
  await audits.look();
  assert.equal(audit.count, 5);
});

test('a started gateway audits by itself, and no more once it is closed', async (t) => {
  const { clock, audit, gateway } = world(t);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { audits } = gateway();
  const minute = async (): Promise<void> => {
    clock.atMs += 60_000;
    t.mock.timers.tick(60_000);
    await new Promise(setImmediate);
  };
  const startedAtMs = clock.atMs;
  audits.start();
  while (audits.last === null) await minute();
  const firstAtMs = audits.last.atMs;
  assert.ok(firstAtMs - startedAtMs >= 600_000, 'a start is left alone');
  while (audits.last.atMs === firstAtMs) await minute();
  // The clock goes on while one runs.
  assert.ok(audits.last.atMs - firstAtMs > DAY_MS / 2);
  assert.equal(audit.count, 2);
  audits.close();
  for (let minutes = 0; minutes < 2 * 24 * 60; minutes += 1) await minute();
  assert.equal(audit.count, 2);
});
