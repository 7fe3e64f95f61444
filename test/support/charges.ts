/** The charges of some keys, read from the store itself and not through a gateway. */
import { DatabaseSync } from 'node:sqlite';
import type { TestPostgres } from './postgres.ts';

/** A charge as the ledger has it. */
export interface Charge {
  readonly keyId: string;
  /** The hold, which is the request id of its call. */
  readonly id: string;
  /** In the unit of the key: nanos of a credit, or tokens. */
  readonly nanos: number;
}

export function sqliteCharges(file: string, keyIds: readonly string[]): readonly Charge[] {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
  try {
    const query = database.prepare(`SELECT id, amount FROM entries WHERE key_id = ? AND kind = 'charge'`);
    return keyIds.flatMap((keyId) =>
      query.all(keyId).map(({ id, amount }) => ({ keyId, id: String(id), nanos: Number(amount) })),
    );
  } finally {
    database.close();
  }
}

export async function postgresCharges(
  server: TestPostgres,
  database: string,
  keyIds: readonly string[],
): Promise<readonly Charge[]> {
  const list = keyIds.map((id) => `'${id}'`).join(', ');
  const rows = await server.query(
    database,
    `SELECT key_id, id, amount FROM gateway.entries WHERE kind = 'charge' AND key_id IN (${list})`,
  );
  return rows.map(({ key_id, id, amount }) => ({ keyId: String(key_id), id: String(id), nanos: Number(amount) }));
}
