/**
 * `node bench/usage.ts [--records N] [--engine sqlite|postgres] [--file FILE]`: usage reports over 30 days of generated records, what adding
 * to the rollups takes, and how long each step keeps the thread that serves. 10 million records by default; they take a few
 * minutes and some gigabytes of the temporary folder. `--file` has books that were made before, by this or by bench/console.ts.
 */
import { copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { ROWS_MAX } from '../src/admin/usage/schema.ts';
import { systemClock } from '../src/core/clock.ts';
import { DAY_MS, HOUR_MS } from '../src/core/time.ts';
import type { UsageQuery } from '../src/core/usage-report.ts';
import { createLedger, type OwnedLedger } from '../src/ledger/ledger.ts';
import { openPostgresStore } from '../src/ledger/postgres/store.ts';
import { joinDatabase, openDatabase } from '../src/ledger/sqlite/database.ts';
import { openEngine } from '../src/ledger/sqlite/engine.ts';
import { openInProcessStore } from '../src/ledger/sqlite/in-process-store.ts';
import { coldStatements } from '../src/ledger/sqlite/statements.ts';
import { readStep } from '../src/reports/sqlite/rollup.ts';
import { startPostgres } from '../test/support/postgres.ts';
import { daysAgoMs, GROWN_DAYS, type Growth, growPostgresSql, growSqlite } from './grown-ledger.ts';
import { table } from './report.ts';
import { median } from './stats.ts';

const RUNS = 5;
/** About what ten seconds bring between two steps of the rollups. */
const UNROLLED = 5_000;
const ACCOUNTS = 1_000;
const startMs = daysAgoMs(GROWN_DAYS - 1);

const REPORTS: readonly (readonly [name: string, change: Partial<UsageQuery>])[] = [
  ['--by model,day', { by: ['model', 'day'] }],
  ['--by provider,hour', { by: ['provider', 'hour'] }],
  ['--by format', { by: ['format'] }],
  ['--by label', { by: ['label'] }],
  ['--by label,day', { by: ['label', 'day'] }],
  ['--by account', { by: ['account'] }],
  ['--by day,account --top 5', { by: ['day', 'account'], top: { count: 5, order: 'cost' } }],
  ['--by key --top 500', { by: ['key'], top: { count: 500, order: 'cost' } }],
  ['--by day,key --top 5', { by: ['day', 'key'], top: { count: 5, order: 'cost' } }],
  ['--by day --key ID', { by: ['day'], filter: { key: 'key_000000000042' } }],
  ['--by key --label TEXT', { by: ['key'], filter: { label: 'team 7' } }],
  ['--by key (refused)', { by: ['key'] }],
];

const { values } = parseArgs({
  options: { records: { type: 'string' }, engine: { type: 'string' }, file: { type: 'string' } },
});
const growth: Growth = {
  records: Number(values.records ?? 10_000_000),
  unrolled: UNROLLED,
  startMs,
  accounts: ACCOUNTS,
};
const folder = mkdtempSync(join(tmpdir(), 'bench-usage-'));

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function timed<T>(work: () => T | Promise<T>): Promise<[T, number]> {
  const fromMs = performance.now();
  const value = await work();
  return [value, performance.now() - fromMs];
}

async function measure(name: string, ledger: OwnedLedger): Promise<void> {
  const head = ['report', 'rows', 'first, ms', `median of ${RUNS}, ms`, 'longest pause of the thread, ms'];
  const rows: string[][] = [];
  for (const [title, change] of REPORTS) {
    const query = {
      sinceMs: startMs,
      untilMs: startMs + GROWN_DAYS * DAY_MS,
      by: [],
      filter: {},
      rowsMax: ROWS_MAX,
      ...change,
    };
    const times: number[] = [];
    let found = 0;
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    for (let run = 0; run < RUNS; run++) {
      const [outcome, ms] = await timed(() => ledger.usageReport(query));
      if (outcome.kind === 'usage' && outcome.catchingUp) throw new Error(`${title}: too much is not rolled up`);
      found = outcome.kind === 'usage' ? outcome.rows.length : 0;
      times.push(ms);
    }
    delay.disable();
    const pauseMs = delay.max / 1e6;
    rows.push([title, String(found), (times[0] ?? 0).toFixed(0), median(times).toFixed(0), pauseMs.toFixed(1)]);
  }
  say(
    `\n${name}, ${growth.records} records, ${growth.unrolled} of them not rolled up:\n${table(head, rows).join('\n')}`,
  );

  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  let [charges, steps] = [0, 0];
  const [, ms] = await timed(async () => {
    for (let more = true; more; steps++) {
      const step = await ledger.rollUp();
      charges += step.charges;
      more = step.more;
    }
  });
  delay.disable();
  const pause = `${(delay.percentile(50) / 1e6).toFixed(2)} ms in the median, ${(delay.max / 1e6).toFixed(2)} ms at most`;
  say(`rolling up: ${charges} charges in ${steps} steps, ${ms.toFixed(0)} ms; the thread paused for ${pause}`);
  const [total] = await timed(() =>
    ledger.usageReport({ sinceMs: 0, untilMs: startMs + 40 * 24 * HOUR_MS, by: [], filter: {}, rowsMax: 10 }),
  );
  if (total.kind !== 'usage' || total.total.sums.charges !== BigInt(growth.records)) {
    throw new Error('the report does not count every record');
  }
}

async function onSqlite(): Promise<void> {
  const file = join(folder, 'ledger.db');
  const given = values.file;
  const [, ms] = await timed(() => (given === undefined ? growSqlite(file, growth) : copyFileSync(given, file)));
  say(`SQLite: filled in ${(ms / 1_000).toFixed(0)} s, ${(statSync(file).size / 1e9).toFixed(1)} GB`);
  const ledger = createLedger(openInProcessStore({ file }));
  await measure('SQLite', ledger);
  await ledger.close();
  timeTransactions(file);
}

/** What of a step the thread that serves does itself: the transaction that adds what another thread has summed up. */
function timeTransactions(file: string): void {
  const database = openDatabase(file);
  database.exec(`UPDATE usage_watermark SET number = number - ${growth.unrolled}; PRAGMA synchronous = OFF`);
  const engine = openEngine(database, file, systemClock());
  const sql = coldStatements(joinDatabase(file));
  const times: number[] = [];
  for (let more = true; more; ) {
    const step = readStep(sql, 2_000);
    const fromMs = performance.now();
    more = engine.addToRollups(step).more;
    times.push(performance.now() - fromMs);
  }
  engine.close();
  times.sort((a, b) => a - b);
  const at = (percent: number): string => (times[Math.floor((times.length * percent) / 100)] ?? 0).toFixed(2);
  say(
    `one transaction of the rollups: ${at(50)} ms in the median, ${at(95)} ms at the 95th percentile (${times.length})`,
  );
}

async function onPostgres(): Promise<void> {
  const server = await startPostgres(['-c', 'shared_buffers=256MB', '-c', 'max_wal_size=8GB']);
  try {
    const url = server.url(await server.createDatabase());
    const store = await openPostgresStore({ url });
    const client = new Client({ connectionString: url });
    await client.connect();
    const [, ms] = await timed(async () => {
      for (const sql of growPostgresSql(growth)) await client.query(sql);
    });
    await client.end();
    say(`PostgreSQL: filled in ${(ms / 1_000).toFixed(0)} s`);
    const ledger = createLedger(store);
    await measure('PostgreSQL', ledger);
    await ledger.close();
  } finally {
    await server.stop();
  }
}

try {
  if (values.engine !== 'postgres') await onSqlite();
  if (values.engine !== 'sqlite') await onPostgres();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
