/** Appends batches from a serving thread, on a connection of its own. */
import { arrayLiteral } from '../../../storage/postgres/array-literal.ts';
import { sqlState } from '../../../storage/postgres/error-mapping.ts';
import { addFailures } from '../../failures/postgres.ts';
import type { FailureCount } from '../../failures/store.ts';
import { COLUMNS, type RequestEntry } from '../entry.ts';
import type { CapturedContent, RequestLogAppender } from '../store.ts';
import { dayOf, LogDatabase } from './database.ts';

const NO_PARTITION = '23514';
const IS_THERE = '23505';

const INSERT = `
  INSERT INTO gateway.request_log (day, ${COLUMNS.map(({ name }) => name).join(', ')})
  SELECT * FROM unnest($1::integer[], ${COLUMNS.map(({ type }, at) => `$${at + 2}::${type}[]`).join(', ')})`;
/** Of a batch that is sent again. */
const INSERT_MISSING = `${INSERT} ON CONFLICT (day, id) DO NOTHING`;

const INSERT_CAPTURES = `
  INSERT INTO gateway.request_captures (id, expires_at_ms, cut, request, response)
  SELECT * FROM unnest($1::text[], $2::bigint[], $3::boolean[], $4::bytea[], $5::bytea[])
  ON CONFLICT (id) DO NOTHING`;

export class PostgresAppender implements RequestLogAppender {
  readonly #database: LogDatabase;

  constructor(url: string) {
    this.#database = new LogDatabase(url);
  }

  /** Content comes first: a batch that is sent again is the same. */
  async append(entries: readonly RequestEntry[], captured: readonly CapturedContent[] = []): Promise<void> {
    if (captured.length > 0) {
      await this.#database.query(INSERT_CAPTURES, [
        captured.map(({ id }) => id),
        captured.map(({ expiresAtMs }) => expiresAtMs),
        captured.map(({ cut }) => cut),
        captured.map(({ request }) => Buffer.from(request)),
        captured.map(({ response }) => Buffer.from(response)),
      ]);
    }
    const days = entries.map(({ id }) => dayOf(id));
    const columns = [days, ...COLUMNS.map(({ of }) => entries.map((entry) => entry[of]))].map(arrayLiteral);
    try {
      await this.#insert(columns);
    } catch (error) {
      if (sqlState(error) !== NO_PARTITION) throw error;
      await this.#database.makePartitions([...new Set(days)]);
      await this.#insert(columns);
    }
  }

  async #insert(columns: readonly string[]): Promise<void> {
    try {
      await this.#database.query(INSERT, columns, 'append-requests');
    } catch (error) {
      if (sqlState(error) !== IS_THERE) throw error;
      await this.#database.query(INSERT_MISSING, columns);
    }
  }

  count(counts: readonly FailureCount[]): Promise<void> {
    return addFailures((text, values) => this.#database.query(text, values), counts);
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}
