/** What is removed in the background, beside batches that write the same rows. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Client } from 'pg';
import { newKey } from './fixtures.ts';
import { closeAll, only, replicas, server } from './postgres-books.ts';

/** Rows that have expired, two of each key, and the sum of each key. */
const TABLES = {
  responses: (key: string, id: string) =>
    `INSERT INTO gateway.responses (key_id, id, expires_at_ms, bytes, output, response) VALUES ('${key}', '${id}', 1, 5, '[]', '{}')`,
  runs: (key: string, id: string) =>
    `INSERT INTO gateway.runs (key_id, id, hold_id, status, response, keep_ms, bytes, expires_at_ms)
      VALUES ('${key}', '${id}', '${id}', 'completed', '{}', 1, 5, 1)`,
};

export function pruning(): void {
  describe('what is removed in the background', () => {
    for (const [table, insertion] of Object.entries(TABLES)) {
      const sums = `gateway.${table === 'runs' ? 'run' : 'response'}_bytes`;
      test(`[F53] ${table} wait for nobody who is writing those of their key, so that nobody waits in a circle`, async () => {
        const { database, ledgers } = await replicas(1);
        const ledger = only(ledgers);
        const { id: busy } = await ledger.createKey(newKey());
        const { id: idle } = await ledger.createKey(newKey());
        for (const key of [busy, idle]) {
          for (const id of ['a', 'b']) await server.query(database, insertion(key, id));
        }
        const left = () => server.query(database, `SELECT key_id, id FROM gateway.${table} ORDER BY key_id, id`);
        const batch = new Client({ connectionString: server.url(database) });
        await batch.connect();
        await batch.query('BEGIN');
        await batch.query(`UPDATE ${sums} SET bytes = bytes + 1 WHERE key_id = $1`, [busy]);
        assert.equal((await ledger.prune(null)).removed, 2);
        assert.deepEqual(
          (await left()).map(({ key_id }) => key_id),
          [busy, busy],
        );
        await batch.query(`DELETE FROM gateway.${table} WHERE key_id = $1 AND id = 'a'`, [busy]);
        await batch.query('COMMIT');
        await batch.end();
        assert.equal((await ledger.prune(null)).removed, 1);
        assert.deepEqual(await left(), []);
        const [sum] = await server.query(database, `SELECT bytes FROM ${sums} WHERE key_id = '${idle}'`);
        assert.equal(Number(sum?.bytes), 0);
        await closeAll(ledgers);
      });
    }
  });
}
