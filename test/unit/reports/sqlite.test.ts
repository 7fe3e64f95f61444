/** How reports and rollups read: size must not matter. What they say is in the ledger's contract. */
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { DAY_MS, HOUR_MS } from '../../../src/core/time.ts';
import { USAGE_DIMENSIONS, USAGE_SUMS, type UsageQuery } from '../../../src/core/usage-report.ts';
import { readMigrations } from '../../../src/ledger/migrations.ts';
import { type ColdStatements, coldStatements } from '../../../src/ledger/sqlite/statements.ts';
import { usageReport } from '../../../src/reports/sqlite/report.ts';
import { addToRollups, readStep } from '../../../src/reports/sqlite/rollup.ts';
import { UsageTail } from '../../../src/reports/sqlite/tail.ts';
import { defineTimeFunctions } from '../../../src/reports/sqlite/time-counts.ts';

/** A database with the schema up to a migration, and the statements that were asked for. */
function opened(to = Number.POSITIVE_INFINITY) {
  const database = new DatabaseSync(':memory:', { readBigInts: true });
  for (const { version, sql } of readMigrations('sqlite')) if (version <= to) database.exec(sql);
  defineTimeFunctions(database);
  const asked: string[] = [];
  const cold = coldStatements(database);
  const sql: ColdStatements = (text) => {
    asked.push(text);
    return cold(text);
  };
  const plans = (): readonly string[] =>
    asked.splice(0).flatMap((text) =>
      database
        .prepare(`EXPLAIN QUERY PLAN ${text}`)
        .all()
        .map(({ detail }) => String(detail)),
    );
  return { database, sql, plans };
}

function query(change: Partial<UsageQuery>): UsageQuery {
  return { sinceMs: 0, untilMs: 30 * DAY_MS, by: [], filter: {}, rowsMax: 100, ...change };
}

test('a report looks its rollup up by time, and reads charges only behind the watermark', () => {
  const { sql, plans } = opened();
  for (const by of [[], ...USAGE_DIMENSIONS.map((dimension) => [dimension])]) {
    usageReport(sql, query({ by, sinceMs: 5 * HOUR_MS }));
    const found = plans();
    // A search goes to where the rows are; a scan would read them all.
    const scans = found.filter(
      // Of one row, and whether there is one.
      (line) =>
        /^SCAN (?:usage\w*|entries|u|e|k|keys)\b/.test(line) &&
        line !== 'SCAN usage_watermark' &&
        line !== 'SCAN usage_moved_keys',
    );
    assert.deepEqual(scans, [], by.join());
    const keyed = by.includes('key') || by.includes('label') || by.includes('account');
    // Those of accounts are `u` there, and so are the usage records.
    assert.equal(
      found.some((line) => /usage_key_|SEARCH u USING PRIMARY KEY/.test(line)),
      keyed,
      `${by}: ${found}`,
    );
  }
});

test('a step of the rollups looks up the records behind the watermark, and their entries by key', () => {
  const { sql, plans } = opened();
  addToRollups(sql, readStep(sql, 100));
  const found = plans().join('\n');
  assert.match(found, /SEARCH u USING INTEGER PRIMARY KEY \(rowid>\?\)/);
  assert.match(found, /SEARCH e USING PRIMARY KEY \(key_id=\? AND kind=\? AND id=\?\)/);
});

test('records from before the rollups are added to them, with the amounts of their entries', () => {
  const { database, sql } = opened(5);
  database.exec(`
    INSERT INTO keys (id, version, mode, status, provider_scope, period, created_at_ms, prefix)
      VALUES ('c', 1, 'credit', 'active', 'all', 'month', 0, ''), ('b', 1, 'token_budget', 'active', 'all', 'month', 0, '');
    INSERT INTO entries (key_id, kind, id, amount, held, at_ms) VALUES
      ('c', 'charge', 'h1', 40, 50, 1000), ('b', 'charge', 'h2', 30, 50, 2000), ('c', 'charge', 'cancelled', 5, 50, 3000);
    INSERT INTO usage (key_id, at_ms, hold_id, request_id, model, provider, format, streamed, outcome, source, input, cache_read,
        cache_write, cache_write_1h, output, reasoning, cost_nanos, provider_cost_nanos, attempts, duration_ms) VALUES
      ('c', 1000, 'h1', '', 'm', 'p', 'chat', 0, 'complete', 'reported', 1, 0, 0, 0, 2, 0, 45, 20, 1, 700),
      ('b', 2000, 'h2', '', 'm', 'p', 'chat', 0, 'complete', 'reported', 1, 0, 0, 0, 2, 0, 60, 20, 1, 700)`);
  for (const { version, sql: text } of readMigrations('sqlite')) if (version > 5) database.exec(text);
  const sums = () => {
    const report = usageReport(sql, query({ by: ['model'] }));
    assert.ok(report.kind === 'usage');
    return report.rows.map(({ group, sums: row, firstByteMs }) => [
      ...[group[0], row.requests, row.charged_nanos, row.charged_tokens, row.cost_nanos, row.provider_cost_nanos],
      firstByteMs,
    ]);
  };
  const expected = [['m', 2n, 40n, 30n, 100n, 40n, null]];
  assert.deepEqual(sums(), expected);
  assert.deepEqual(addToRollups(sql, readStep(sql, 100)), { charges: 2, more: false });
  assert.deepEqual(sums(), expected);
});

test('charges behind the rollups are read once for all reports, and counted once before and after they are added', () => {
  const { database, sql } = opened();
  const kept = new UsageTail();
  const charge = (id: string, amount: number): void =>
    database.exec(`
      INSERT INTO entries (key_id, kind, id, amount, held, at_ms, cost_nanos, provider_cost_nanos)
        VALUES ('c', 'charge', '${id}', ${amount}, 50, 1000, ${amount}, 1);
      INSERT INTO unrolled (key_id, hold_id) VALUES ('c', '${id}')`);
  const charged = (by: UsageQuery['by']) => {
    const report = usageReport(sql, query({ by }), kept);
    assert.ok(report.kind === 'usage');
    return report.rows.map(({ group, sums }) => [...group, sums.charges, sums.charged_nanos]);
  };
  database.exec(`INSERT INTO keys (id, version, mode, label, status, provider_scope, period, created_at_ms, prefix)
    VALUES ('c', 1, 'credit', 'before', 'active', 'all', 'month', 0, '')`);
  charge('h1', 40);
  assert.deepEqual(charged(['label']), [['before', 1n, 40n]]);
  charge('h2', 2);
  database.exec("UPDATE keys SET label = 'after'");
  assert.deepEqual(charged(['label']), [['after', 2n, 42n]]);
  addToRollups(sql, readStep(sql, 100));
  assert.deepEqual(charged(['label']), [['after', 2n, 42n]]);
  charge('h3', 1);
  assert.deepEqual(charged(['key']), [['c', 3n, 43n]]);
  assert.deepEqual(charged(['key']), [['c', 3n, 43n]]);
});

test('what was read for another state of the rollups is not added to them', () => {
  const { database, sql } = opened();
  database.exec(`
    INSERT INTO keys (id, version, mode, status, provider_scope, period, created_at_ms, prefix)
      VALUES ('c', 1, 'credit', 'active', 'all', 'month', 0, '');
    INSERT INTO entries (key_id, kind, id, amount, held, at_ms, cost_nanos, provider_cost_nanos)
      VALUES ('c', 'charge', 'h1', 40, 50, 1000, 40, 1);
    INSERT INTO unrolled (key_id, hold_id) VALUES ('c', 'h1')`);
  const [first, second] = [readStep(sql, 100), readStep(sql, 100)];
  assert.deepEqual(addToRollups(sql, first), { charges: 1, more: false });
  assert.deepEqual(addToRollups(sql, second), { charges: 0, more: true });
  const report = usageReport(sql, query({}));
  assert.ok(report.kind === 'usage' && report.total.sums.charges === 1n);
});

/** Of `count` accounts with a key each, a charge per day; keys of every other account have not been used. */
function usedAccounts(database: DatabaseSync, count: number, days: number): void {
  const range = `WITH RECURSIVE n(i) AS (VALUES(0) UNION ALL SELECT i + 1 FROM n WHERE i < ${count - 1})`;
  const zeros = USAGE_SUMS.map((name) => (name === 'charges' ? '1' : name === 'cost_nanos' ? 'i + 1' : '0')).join(', ');
  database.exec(`
    INSERT INTO tree_accounts (id, root_id, version, name, labels, status, created_at_ms)
      ${range} SELECT printf('acc_%03d', i), printf('acc_%03d', i), 1, 'a', '{}', 'active', 0 FROM n;
    INSERT INTO keys (id, version, mode, status, provider_scope, period, created_at_ms, prefix, account_id)
      ${range} SELECT printf('key_%03d', i), 1, 'credit', 'active', 'all', 'month', 0, '', printf('acc_%03d', i) FROM n`);
  for (let day = 0; day < days; day++) {
    database.exec(`INSERT INTO usage_key_days (start_ms, key_id, model, provider, format, ${USAGE_SUMS.join(', ')}, times)
      ${range} SELECT ${day * DAY_MS}, printf('key_%03d', i), 'm', 'p', 'chat', ${zeros}, X'' FROM n`);
  }
}

function byAccount(sql: ColdStatements): ReadonlyMap<string, bigint> {
  const report = usageReport(sql, query({ by: ['account', 'day'], rowsMax: 10_000 }));
  assert.ok(report.kind === 'usage');
  return new Map(report.rows.map(({ group, sums }) => [JSON.stringify(group), sums.cost_nanos]));
}

function rollUpAll(sql: ColdStatements): number {
  for (let steps = 1; ; steps++) if (!addToRollups(sql, readStep(sql, 100)).more) return steps;
}

test('days from before the rollup by account are added to it in small steps, and the report is the same at each', () => {
  const { database, sql } = opened(12);
  usedAccounts(database, 200, 3);
  database.exec(readMigrations('sqlite').find(({ version }) => version === 13)?.sql ?? '');
  const wanted = byAccount(sql);
  assert.equal(wanted.size, 600);
  const built: bigint[] = [];
  for (let more = true; more; ) {
    // Keys move, and charges of an old day come in, while it is being built.
    if (built.length === 1) database.exec("UPDATE keys SET account_id = 'acc_199' WHERE id = 'key_003'");
    const before = byAccount(sql);
    more = addToRollups(sql, readStep(sql, 100)).more;
    assert.deepEqual(byAccount(sql), before);
    built.push(database.prepare('SELECT count(*) AS rows FROM usage_account_days').get()?.rows as bigint);
  }
  assert.ok(built.length >= 6, `in ${built.length} steps`);
  assert.equal(built.at(-1), 597n);
  const after = byAccount(sql);
  const day = JSON.stringify(['acc_199', DAY_MS]);
  assert.equal(after.get(day), (wanted.get(day) ?? 0n) + 4n);
  assert.equal(after.has(JSON.stringify(['acc_003', DAY_MS])), false);
});

test('what a release without the rollup by account has added is counted: the rollup is built anew', () => {
  const { database, sql } = opened();
  usedAccounts(database, 3, 2);
  database.exec('UPDATE usage_watermark SET version = version + 1');
  const wanted = byAccount(sql);
  assert.equal(wanted.size, 6);
  rollUpAll(sql);
  assert.equal(database.prepare('SELECT count(*) AS rows FROM usage_account_days').get()?.rows, 6n);
  // As that release adds to the other rollups.
  database.exec(
    'UPDATE usage_key_days SET cost_nanos = cost_nanos + 10; UPDATE usage_watermark SET version = version + 1',
  );
  const more = new Map([...wanted].map(([name, cost]) => [name, cost + 10n]));
  assert.deepEqual(byAccount(sql), more);
  rollUpAll(sql);
  assert.deepEqual(byAccount(sql), more);
});
