/**
 * What a connection may rely on. Straight to the server a session is its own: settings are made once and statements are
 * prepared once. Behind a pooler in transaction mode (PgBouncer) each transaction may run in another session, which others use
 * too: then each brings its settings along, and leaves none behind. That is right in session mode as well, and the modes look
 * alike from here, so every pooler is treated so.
 *
 * A pooler is known by the process that it announced: PgBouncer makes that number up, and the session's real one is another.
 */
import { randomUUID } from 'node:crypto';
import type { DatabaseAddress } from '../../core/database-url.ts';
import type { Row } from '../columns.ts';
import { StoreError } from '../errors.ts';
import { ReadOnlyServerError } from './error-mapping.ts';

type Query = (text: string, name?: string) => Promise<readonly Row[]>;

export interface SessionSettings {
  readonly statementTimeoutMs: number;
  readonly lockTimeoutMs: number;
  readonly looksUp?: boolean;
}

export interface Session {
  /** What each transaction sets first; null: it is set for the whole session. */
  readonly perTransaction: string | null;
  /** Whether what was prepared under a name is there for the next transaction. */
  readonly prepares: boolean;
}

const STATE = `SELECT pg_backend_pid() AS process, pg_is_in_recovery() AS recovering,
  current_setting('transaction_read_only') = 'on' AS read_only, current_setting('synchronous_commit') = 'off' AS loses_commits`;
const KEPT = `SELECT pg_backend_pid() AS process,
  (SELECT setting FROM pg_settings WHERE name = 'statement_timeout') AS statement_timeout`;
const PREPARED = 'SELECT name FROM pg_prepared_statements';

/** `announced`: the process that the other side named when the connection was made. */
export async function beginSession(
  query: Query,
  announced: number | null,
  { wanted, pooled }: DatabaseAddress,
  settings: SessionSettings,
): Promise<Session> {
  const [state] = await query(STATE);
  if (wanted === 'primary' ? state?.recovering === true : wanted === 'read-write' && state?.read_only === true) {
    throw new ReadOnlyServerError();
  }
  const loses = state?.loses_commits === true;
  if (!pooled && state?.process === announced) {
    await query(settingsText(settings, loses, false));
    const [kept] = await query(KEPT);
    // One that announces a real process, and gives the next transaction another one or the session's settings away.
    if (kept?.process === announced && isKept(kept, settings)) return { perTransaction: null, prepares: true };
  }
  return pooledSession(query, settingsText(settings, loses, true), settings);
}

async function pooledSession(query: Query, perTransaction: string, settings: SessionSettings): Promise<Session> {
  try {
    await query(`BEGIN; ${perTransaction}`);
  } catch (error) {
    if (/statement pool/i.test(error instanceof Error ? error.message : '')) throw needsTransactions();
    throw error;
  }
  const [kept] = await query(KEPT);
  if (!isKept(kept, settings)) throw needsTransactions();
  const prepares = await arePrepared(query);
  await query('COMMIT');
  return { perTransaction, prepares };
}

/** A pooler that keeps prepared statements (PgBouncer 1.21 and later) has them in the server under names of its own. */
async function arePrepared(query: Query): Promise<boolean> {
  const name = `gateway-${randomUUID()}`;
  const names = (await query(PREPARED, name)).map((row) => row.name);
  if (!names.includes(name)) return names.length > 0;
  await query(`DEALLOCATE "${name}"`);
  return false;
}

function isKept(row: Row | undefined, { statementTimeoutMs }: SessionSettings): boolean {
  return row?.statement_timeout === String(statementTimeoutMs);
}

function needsTransactions(): StoreError {
  return new StoreError(
    'The pooler in front of PostgreSQL drops the settings of a transaction: it must keep sessions or transactions (PgBouncer: pool_mode = transaction or session, not statement).',
  );
}

/** The tables may have been empty when a plan was made, which is then kept. */
const LOOK_UPS = [
  'plan_cache_mode = force_generic_plan',
  ...['seqscan', 'bitmapscan', 'hashjoin', 'mergejoin', 'material', 'memoize'].map((way) => `enable_${way} = off`),
];

/**
 * An acknowledged commit must survive a crash of the server, whatever its default says. No statement of this takes a snapshot: that
 * of a transaction which locks tables first must not be older than its locks.
 */
function settingsText(
  { statementTimeoutMs, lockTimeoutMs, looksUp }: SessionSettings,
  losesCommits: boolean,
  local: boolean,
): string {
  const set = local ? 'SET LOCAL' : 'SET';
  const lookUps = looksUp === true ? LOOK_UPS.map((setting) => `${set} ${setting};`).join(' ') : '';
  return `${set} statement_timeout = ${statementTimeoutMs};
    ${set} lock_timeout = ${lockTimeoutMs};
    ${set} idle_in_transaction_session_timeout = ${statementTimeoutMs};
    ${set} jit = off;
    ${lookUps}
    ${losesCommits ? `${set} synchronous_commit = on` : ''}`;
}
