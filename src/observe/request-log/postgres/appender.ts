/** Appends batches from a serving thread, on a connection of its own. */
import type { RequestEntry } from '../entry.ts';
import type { RequestLogAppender } from '../store.ts';
import { dayOf, LogDatabase } from './database.ts';

const NO_PARTITION = '23514';

const INSERT = `
  INSERT INTO gateway.request_log (day, id, received_at_ms, key_id, model, status, condition, duration_ms, cost_nanos, detail)
  SELECT * FROM unnest($1::integer[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::integer[], $7::text[],
    $8::bigint[], $9::bigint[], $10::text[])
  ON CONFLICT (day, id) DO NOTHING`;

export function openPostgresAppender(url: string): RequestLogAppender {
  return new PostgresAppender(new LogDatabase(url));
}

class PostgresAppender implements RequestLogAppender {
  readonly #database: LogDatabase;

  constructor(database: LogDatabase) {
    this.#database = database;
  }

  async append(entries: readonly RequestEntry[]): Promise<void> {
    const days = entries.map(({ id }) => dayOf(id));
    const values = [
      days,
      entries.map(({ id }) => id),
      entries.map(({ receivedAtMs }) => receivedAtMs),
      entries.map(({ keyId }) => keyId),
      entries.map(({ model }) => model),
      entries.map(({ status }) => status),
      entries.map(({ condition }) => condition),
      entries.map(({ durationMs }) => durationMs),
      entries.map(({ costNanos }) => (costNanos === null ? null : String(costNanos))),
      entries.map(({ detail }) => detail),
    ];
    try {
      await this.#database.query(INSERT, values);
    } catch (error) {
      if ((error as { code?: unknown }).code !== NO_PARTITION) throw error;
      await this.#database.makePartitions([...new Set(days)]);
      await this.#database.query(INSERT, values);
    }
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}
