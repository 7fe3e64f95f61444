/** How reports and rollups read: size must not matter. What they say is in the ledger's contract. */
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { DAY_MS, HOUR_MS } from '../../../../src/core/time.ts';
import { USAGE_DIMENSIONS, type UsageQuery } from '../../../../src/core/usage-report.ts';
import { readMigrations } from '../../../../src/ledger/migrations.ts';
import { type ColdStatements, coldStatements } from '../../../../src/ledger/sqlite/statements.ts';
import { defineTimeFunctions } from '../../../../src/ledger/sqlite/time-counts.ts';
import { usageReport } from '../../../../src/ledger/sqlite/usage-report.ts';
import { addToRollups, readStep } from '../../../../src/ledger/sqlite/usage-rollup.ts';

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
      (line) => /^SCAN (?:usage\w*|entries|u|e|k|keys)\b/.test(line) && line !== 'SCAN usage_watermark',
    );
    assert.deepEqual(scans, [], by.join());
    const keyed = by.includes('key') || by.includes('label') || by.includes('account');
    assert.equal(
      found.some((line) => /usage_key_/.test(line)),
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
