/** Simulated schedules on a real PostgreSQL: two gateways share the books, and either can die. */
import type { Clock } from '../../src/core/clock.ts';
import type { Operation } from '../../src/ledger/operations.ts';
import { openPostgresStore, type PostgresStore } from '../../src/ledger/postgres/store.ts';
import type { TestPostgres } from '../support/postgres.ts';
import type { Applied, Backend, Fault, World } from './world.ts';

/** Nobody gives up on a busy machine. */
const PATIENT = { timeoutMs: 120_000, lockTimeoutMs: 120_000 };

/** All schedules of the backend use one database, which is emptied before each. */
export async function postgresBackend(server: TestPostgres): Promise<Backend> {
  const database = await server.createDatabase();
  const url = server.url(database);
  await (await openPostgresStore({ url })).close();
  const tables = await server.query(
    database,
    `SELECT tablename FROM pg_tables WHERE schemaname = 'gateway' AND tablename NOT IN ('migrations', 'settings')`,
  );
  const names = tables.map(({ tablename }) => `gateway.${String(tablename)}`).join(', ');
  return {
    name: 'PostgreSQL',
    exclusive: false,
    open: async (clock) => {
      // As a replica would: entries are never removed otherwise.
      await server.query(database, `SET session_replication_role = replica; TRUNCATE ${names}`);
      return new PostgresWorld(url, clock, [
        await openPostgresStore({ url, clock, ...PATIENT }),
        await openPostgresStore({ url, clock, ...PATIENT }),
      ]);
    },
  };
}

class PostgresWorld implements World {
  readonly #url: string;
  readonly #clock: Clock;
  readonly #stores: [PostgresStore, PostgresStore];
  #turn = 0;

  constructor(url: string, clock: Clock, stores: [PostgresStore, PostgresStore]) {
    this.#url = url;
    this.#clock = clock;
    this.#stores = stores;
  }

  /** The gateways take turns by `cut`. What a cut connection leaves open is the chaos test's part. */
  async apply(batch: readonly Operation[], fault: Fault, cut: number): Promise<Applied> {
    this.#turn = cut % 2;
    switch (fault) {
      case 'none':
        return { applied: true, results: await this.#store().apply(batch) };
      case 'lost':
      case 'crash_after':
        await this.#store().apply(batch);
        return { applied: true, results: null };
      case 'refused':
      case 'full':
      case 'crash_before':
      case 'crash_inside':
        return { applied: false, results: null };
    }
  }

  /** The gateway that was served last is replaced; the other one does not notice. */
  async restart(): Promise<null> {
    await this.#store().close();
    this.#stores[this.#turn] = await openPostgresStore({ url: this.#url, clock: this.#clock, ...PATIENT });
    return null;
  }

  async close(): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()));
  }

  #store(): PostgresStore {
    return this.#stores[this.#turn] ?? this.#stores[0];
  }
}
