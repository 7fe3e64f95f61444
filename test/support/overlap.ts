/**
 * Transactions of several connections that overlap for certain: each has read what it decides by before any of them has
 * written. Without this, whether two short transactions meet is a matter of luck, and a missing lock stays unnoticed.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import type { TestPostgres } from './postgres.ts';

/** A batch that gives up waiting for a lock before does not meet the others either. */
const MEET_WITHIN_MS = 100_000;

/**
 * Does `work` while nothing can be written to `tables`; when `count` transactions wait (for these tables or for each
 * other), they are let go. Fails where they do not meet.
 */
export async function overlapping<T>(
  server: TestPostgres,
  database: string,
  tables: readonly string[],
  count: number,
  work: () => Promise<T>,
): Promise<T> {
  const gate = await server.connect(database);
  try {
    await gate.query('BEGIN');
    // Reading and row locks go on; inserts, updates and deletes wait.
    await gate.query(`LOCK TABLE ${tables.map((table) => `gateway.${table}`).join(', ')} IN SHARE MODE`);
    const done = work();
    // Whoever waits for `done` is told of its failure.
    done.catch(() => undefined);
    await untilSessions(gate, count, `datname = current_database() AND wait_event_type = 'Lock'`);
    await gate.query('COMMIT');
    return await done;
  } finally {
    await gate.end();
  }
}

/** Resolves when a transaction waits for something that this client's has locked. */
export function untilWaitedFor(client: Client): Promise<void> {
  return untilSessions(client, 1, 'pg_backend_pid() = ANY (pg_blocking_pids(pid))');
}

async function untilSessions(client: Client, count: number, condition: string): Promise<void> {
  for (const deadlineMs = Date.now() + MEET_WITHIN_MS; ; await delay(5)) {
    // Within a transaction PostgreSQL shows what it has shown before.
    await client.query('SELECT pg_stat_clear_snapshot()');
    const { rows } = await client.query<{ n: number }>(
      `SELECT count(*)::integer AS n FROM pg_stat_activity WHERE ${condition}`,
    );
    if ((rows[0]?.n ?? 0) >= count) return;
    if (Date.now() > deadlineMs) throw new Error(`${rows[0]?.n} of ${count} transactions met`);
  }
}
