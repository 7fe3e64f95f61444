/**
 * Books of a gateway that has served for a month, made in minutes: usage records with their charges over 30 days, a hundred
 * for each key, in sessions of ten, and the rollups that count all of them but the newest.
 */
import { DatabaseSync } from 'node:sqlite';
import { DAY_MS, HOUR_MS } from '../src/core/time.ts';
import { openDatabase } from '../src/ledger/sqlite/database.ts';
import { packTimes } from '../src/reports/sqlite/time-counts.ts';
import { LATENCY_CLASSES, TIME_CLASSES } from '../src/reports/tally.ts';

export interface Growth {
  /** A multiple of 1,000. */
  readonly records: number;
  /** How many of the newest records no rollup counts yet; a multiple of 10. */
  readonly unrolled: number;
  /** First millisecond of the month, at the beginning of an hour. */
  readonly startMs: number;
  /** So many accounts below one root, each with as many of the keys as the others; without it keys pay for themselves. */
  readonly accounts?: number;
}

export const GROWN_DAYS = 30;

/** The start of a day, in UTC. */
export function daysAgoMs(days: number): number {
  return Math.floor(Date.now() / DAY_MS) * DAY_MS - days * DAY_MS;
}
const PER_KEY = 100;
const PER_SESSION = 10;
/** Has no factor in common with a number of keys: the sessions of a key are days apart. */
const STRIDE = 61;
const CHARGE = 700_000;
const PROVIDER_COST = 500_000;
const CREDIT = 1_000_000_000_000;
const FIRST_BYTE_CLASS = 10;
const DURATION_CLASS = LATENCY_CLASSES + 18;
/** Rows of one statement: its memory stays small. */
const CHUNK = 500_000;

interface Dialect {
  /** A number with leading zeros. */
  padded(prefix: string, number: string): string;
  /** A table `s` with the numbers `n` of a range. */
  series(from: number, to: number): string;
}

const SQLITE: Dialect = {
  padded: (prefix, number) => `printf('${prefix}%012d', ${number})`,
  series: (from, to) =>
    `(WITH RECURSIVE c(n) AS (VALUES(${from}) UNION ALL SELECT n + 1 FROM c WHERE n < ${to - 1}) SELECT n FROM c) s`,
};
const POSTGRES: Dialect = {
  padded: (prefix, number) => `'${prefix}' || lpad((${number})::text, 12, '0')`,
  series: (from, to) => `(SELECT generate_series(${from}::bigint, ${to - 1}::bigint) AS n) s`,
};

const ROOT_ID = 'acc_root';

/** The id of the account that a key has; `key` is its number. */
function accountOf(dialect: Dialect, { accounts }: Growth, key: string): string {
  return accounts === undefined ? 'NULL' : dialect.padded('acc_', `(${key}) % ${accounts}`);
}

function accountRows(dialect: Dialect, { accounts, startMs, records }: Growth): string {
  const used = records * CHARGE;
  return `SELECT '${ROOT_ID}', '${ROOT_ID}', NULL, 1, 'Root', '{}', 'active', ${startMs}, ${CREDIT} + ${used}, ${used}
    UNION ALL SELECT ${dialect.padded('acc_', 'n')}, '${ROOT_ID}', '${ROOT_ID}', 1, 'Account ' || n, '{}', 'active', ${startMs}, 0,
      ${used / (accounts ?? 1)} FROM ${dialect.series(0, accounts ?? 0)}`;
}

const ACCOUNT_COLUMNS = 'id, root_id, parent_id, version, name, labels, status, created_at_ms, purchased, used';

/** The columns of a session: its key, path, time, model, provider and format. */
function session(dialect: Dialect, growth: Growth, q: string) {
  const { records, startMs } = growth;
  const sessions = records / PER_SESSION;
  const key = `(${q}) * ${STRIDE} % ${records / PER_KEY}`;
  return {
    keyId: dialect.padded('key_', key),
    accountId: accountOf(dialect, growth, key),
    path: growth.accounts === undefined ? 'NULL' : `'["' || ${accountOf(dialect, growth, key)} || '","${ROOT_ID}"]'`,
    atMs: `${startMs} + (${q}) * ${(GROWN_DAYS * DAY_MS) / 1_000} / ${sessions / 1_000}`,
    call: `'model-' || ((${q}) % 12), 'provider-' || ((${q}) % 3), CASE (${q}) % 2 WHEN 0 THEN 'chat' ELSE 'messages' END`,
  };
}

function usageRows(dialect: Dialect, growth: Growth, from: number, to: number): string {
  const { keyId, atMs, call } = session(dialect, growth, `n / ${PER_SESSION}`);
  const yes = dialect === SQLITE ? '1' : 'true';
  return `SELECT ${keyId} AS key_id, ${atMs} AS at_ms, ${dialect.padded('hold_', 'n')}, ${dialect.padded('req_', 'n')}, ${call},
    ${yes}, 'complete', 'reported', 200, 0, 0, 0, 250, 0, ${CHARGE}, ${PROVIDER_COST}, 1, 900 + n * 91 % 20000, 100 + n * 37 % 800
    FROM ${dialect.series(from, to)}`;
}

const USAGE_COLUMNS = `key_id, at_ms, hold_id, request_id, model, provider, format, streamed, outcome, source, input, cache_read,
  cache_write, cache_write_1h, output, reasoning, cost_nanos, provider_cost_nanos, attempts, duration_ms, first_byte_ms`;
const ENTRY_COLUMNS = `key_id, kind, id, amount, held, at_ms, model, provider, format, cost_nanos, provider_cost_nanos,
  root_id, path`;

/** In the order of their keys, so that the table grows at its end. */
function entryRows(dialect: Dialect, growth: Growth, from: number, to: number): string {
  const keys = growth.records / PER_KEY;
  const first = `n / ${PER_KEY} * ${inverse(STRIDE, keys)} % ${keys}`;
  const q = `(${first} + n / ${PER_SESSION} % ${PER_KEY / PER_SESSION} * ${keys})`;
  const { keyId, atMs, call, path } = session(dialect, growth, q);
  const rootId = growth.accounts === undefined ? 'NULL' : `'${ROOT_ID}'`;
  return `SELECT ${keyId}, 'charge', ${dialect.padded('hold_', `${q} * ${PER_SESSION} + n % ${PER_SESSION}`)}, ${CHARGE}, ${CHARGE},
    ${atMs}, ${call}, ${CHARGE}, ${PROVIDER_COST}, ${rootId}, ${path} FROM ${dialect.series(from, to)}`;
}

const SUMS_OF_SESSION = [
  ...[PER_SESSION, PER_SESSION, 0, PER_SESSION * CHARGE, 0, PER_SESSION * CHARGE, PER_SESSION * PROVIDER_COST],
  ...[PER_SESSION * 200, 0, 0, 0, PER_SESSION * 250, 0],
];
const SUM_COLUMNS = `charges, requests, broken, charged_nanos, charged_tokens, cost_nanos, provider_cost_nanos, input,
  cache_read, cache_write, cache_write_1h, output, reasoning`;

/** A session is a row of its own in the rollups by key: its key rests for days before and after it. */
function rollupRows(dialect: Dialect, growth: Growth, lengthMs: number, times: string): string {
  const { keyId, atMs, call } = session(dialect, growth, 'n');
  const sessions = (growth.records - growth.unrolled) / PER_SESSION;
  return `SELECT (${atMs}) / ${lengthMs} * ${lengthMs}, ${keyId}, ${call}, ${SUMS_OF_SESSION.join(', ')}, ${times}
    FROM ${dialect.series(0, sessions)} ORDER BY 1, 2`;
}

/** Fills a new file; it must not exist. */
export function growSqlite(file: string, growth: Growth): void {
  openDatabase(file).close();
  const database = new DatabaseSync(file);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -400000; BEGIN');
  const keys = growth.records / PER_KEY;
  const keyId = SQLITE.padded('key_', 'n');
  if (growth.accounts !== undefined) {
    database.exec(`INSERT INTO tree_accounts (${ACCOUNT_COLUMNS}) ${accountRows(SQLITE, growth)}`);
  }
  database.exec(`
    INSERT INTO keys (id, version, mode, label, status, provider_scope, period, created_at_ms, prefix, account_id)
      SELECT ${keyId}, 1, 'credit', 'team ' || (n % 50), 'active', 'all', 'month', ${growth.startMs}, 'mg_c_grown',
        ${accountOf(SQLITE, growth, 'n')}
      FROM ${SQLITE.series(0, keys)};
    INSERT INTO accounts (key_id, mode, purchased, used, requests, input_tokens, output_tokens, day_start_ms)
      SELECT ${keyId}, 'credit', ${CREDIT}, ${PER_KEY * CHARGE}, ${PER_KEY}, ${PER_KEY * 200}, ${PER_KEY * 250},
        ${growth.startMs + GROWN_DAYS * DAY_MS}
      FROM ${SQLITE.series(0, keys)}`);
  for (let from = 0; from < growth.records; from += CHUNK) {
    const to = Math.min(from + CHUNK, growth.records);
    database.exec(`INSERT INTO entries (${ENTRY_COLUMNS}) ${entryRows(SQLITE, growth, from, to)}`);
    database.exec(`INSERT INTO usage (${USAGE_COLUMNS}) ${usageRows(SQLITE, growth, from, to)}`);
  }
  database.exec(`INSERT INTO entries (key_id, kind, id, amount, held, at_ms)
    SELECT ${keyId}, 'purchase', 'grown', ${CREDIT}, 0, ${growth.startMs} FROM ${SQLITE.series(0, keys)}`);
  const counts = Array(TIME_CLASSES).fill(0);
  counts[FIRST_BYTE_CLASS] = PER_SESSION;
  counts[DURATION_CLASS] = PER_SESSION;
  const times = `X'${Buffer.from(packTimes(counts)).toString('hex')}'`;
  const columns = `start_ms, key_id, model, provider, format, ${SUM_COLUMNS}, times`;
  database.exec(`INSERT INTO usage_key_hours (${columns}) ${rollupRows(SQLITE, growth, HOUR_MS, times)}`);
  database.exec(`INSERT INTO usage_key_days (${columns}) ${rollupRows(SQLITE, growth, DAY_MS, times)}`);
  // Per hour as well, with counts that fit the number of sessions.
  database.function('times_of', (sessions) => {
    const all = counts.map((count: number) => count * Number(sessions));
    return packTimes(all);
  });
  database.exec(`INSERT INTO usage_hours (start_ms, model, provider, format, ${SUM_COLUMNS}, times)
    SELECT start_ms, model, provider, format, ${sumsOf(SUM_COLUMNS)}, times_of(count(*)) FROM usage_key_hours
    GROUP BY start_ms, model, provider, format`);
  database.exec(`INSERT INTO usage_account_days (start_ms, account_id, ${SUM_COLUMNS}, times)
    SELECT r.start_ms, coalesce(k.account_id, ''), ${sumsOf(SUM_COLUMNS)}, times_of(count(*))
    FROM usage_key_days r JOIN keys k ON k.id = r.key_id GROUP BY 1, 2`);
  database.exec('UPDATE usage_account_watermark SET version = 1');
  database.exec(`UPDATE usage_watermark SET number = ${growth.records - growth.unrolled}, version = 1; COMMIT`);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE); PRAGMA optimize');
  database.close();
}

/** The statements that fill a database whose schema is up to date. */
export function growPostgresSql(growth: Growth): readonly string[] {
  const keys = growth.records / PER_KEY;
  const keyId = POSTGRES.padded('key_', 'n');
  const times = `${PER_SESSION}, ${PER_SESSION}`;
  const timeColumns = `f${FIRST_BYTE_CLASS}, d${DURATION_CLASS - LATENCY_CLASSES}`;
  const columns = `start_ms, key_id, model, provider, format, ${SUM_COLUMNS}, ${timeColumns}`;
  return [
    `INSERT INTO gateway.accounts (key_id, version, mode, label, status, provider_scope, period, created_at_ms, prefix, purchased,
      used, requests, input_tokens, output_tokens)
      SELECT ${keyId}, 1, 'credit', 'team ' || (n % 50), 'active', 'all', 'month', ${growth.startMs}, 'mg_c_grown', ${CREDIT},
        ${PER_KEY * CHARGE}, ${PER_KEY}, ${PER_KEY * 200}, ${PER_KEY * 250} FROM ${POSTGRES.series(0, keys)}`,
    `INSERT INTO gateway.entries (${ENTRY_COLUMNS}) ${entryRows(POSTGRES, growth, 0, growth.records)}`,
    `INSERT INTO gateway.entries (key_id, kind, id, amount, held, at_ms)
      SELECT ${keyId}, 'purchase', 'grown', ${CREDIT}, 0, ${growth.startMs} FROM ${POSTGRES.series(0, keys)}`,
    `INSERT INTO gateway.usage (${USAGE_COLUMNS}) ${usageRows(POSTGRES, growth, 0, growth.records)}`,
    `INSERT INTO gateway.unrolled (key_id, at_ms, hold_id) SELECT key_id, at_ms, hold_id FROM gateway.usage
      WHERE hold_id >= ${POSTGRES.padded('hold_', String(growth.records - growth.unrolled))}`,
    `INSERT INTO gateway.usage_key_hours (${columns}) ${rollupRows(POSTGRES, growth, HOUR_MS, times)}`,
    `INSERT INTO gateway.usage_key_days (${columns}) ${rollupRows(POSTGRES, growth, DAY_MS, times)}`,
    `INSERT INTO gateway.usage_hours (start_ms, model, provider, format, ${SUM_COLUMNS}, ${timeColumns})
      SELECT start_ms, model, provider, format, ${sumsOf(SUM_COLUMNS)}, ${sumsOf(timeColumns)} FROM gateway.usage_key_hours
      GROUP BY start_ms, model, provider, format`,
    'ANALYZE',
  ];
}

function sumsOf(columns: string): string {
  return columns
    .split(',')
    .map((name) => `sum(${name.trim()})`)
    .join(', ');
}

/** The number whose product with `value` leaves 1 when it is divided by `modulus`. */
function inverse(value: number, modulus: number): number {
  for (let candidate = 1; candidate < modulus; candidate++) if ((value * candidate) % modulus === 1) return candidate;
  return 0;
}
