/** Responses that are kept for their keys, one statement for each operation; settlements write them in their own batch. */
import { text } from '../../storage/columns.ts';
import type { Connection } from '../../storage/postgres/connection.ts';
import { POSTGRES } from '../books/dialect.ts';
import type { Operation, OperationOf, Outcome, Pruned } from '../operations.ts';
import { RESPONSE_OPERATIONS } from '../port-responses.ts';
import { chainOf, linkFrom, PRUNED_RESPONSES_MAX } from '../rules/stored-responses.ts';
import type { LedgerClock } from './ledger-clock.ts';

type ResponseOperation = OperationOf<keyof typeof RESPONSE_OPERATIONS>;

export function isResponseOperation(operation: Operation): operation is ResponseOperation {
  return operation.op in RESPONSE_OPERATIONS;
}

const GET = `SELECT id, parent_id, input, output, response FROM gateway.responses
  WHERE key_id = $1 AND id = $2 AND expires_at_ms > gateway.ledger_ms($3, $4) AND input IS NOT NULL`;
const DELETE = `DELETE FROM gateway.responses
  WHERE key_id = $1 AND id = $2 AND expires_at_ms > gateway.ledger_ms($3, $4) RETURNING 1`;
const CHAIN = 'SELECT * FROM gateway.find_chain($1, $2, $3, $4, $5, $6)';
const ITEMS = 'SELECT * FROM gateway.find_items($1, $2, $3, $4, $5, $6)';

export async function performOnResponses(
  connection: Connection,
  clock: LedgerClock,
  operation: ResponseOperation,
): Promise<Outcome> {
  const time = clock.values();
  switch (operation.op) {
    case 'getResponse': {
      const [row] = await connection.query(GET, [operation.keyId, operation.id, ...time]);
      return row === undefined ? null : { ...linkFrom(row), response: text(row, 'response') };
    }
    case 'deleteResponse': {
      const rows = await connection.query(DELETE, [operation.keyId, operation.id, ...time]);
      return rows.length === 1 ? { kind: 'deleted' } : { kind: 'unknown' };
    }
    case 'findChain': {
      const { keyId, keepMs, bytesMax } = operation.renewal;
      const rows = await connection.query(CHAIN, [keyId, operation.id, keepMs, bytesMax, ...time]);
      return chainOf(operation.id, rows.map(linkFrom), bytesMax);
    }
    case 'findItems': {
      const { keyId, keepMs, bytesMax } = operation.renewal;
      const rows = await connection.query(ITEMS, [keyId, operation.itemIds, keepMs, bytesMax, ...time]);
      const outputs = rows.map((row) => text(row, 'output'));
      const bytes = outputs.reduce((sum, output) => sum + Buffer.byteLength(output), 0);
      return bytes > bytesMax ? { kind: 'too_large' } : { kind: 'items', outputs };
    }
  }
}

/** With the sums of their keys, which change with them. The sum goes first: nothing is written to rows of a key that is in use. */
const UNLOCKED = POSTGRES.unlocked('b', 'r');
const WITH_SUM = 'gateway.responses r JOIN gateway.response_bytes b ON b.key_id = r.key_id';
const EXPIRED = `SELECT r.key_id, r.id FROM ${WITH_SUM}
  WHERE r.expires_at_ms <= $2 ORDER BY r.expires_at_ms LIMIT $1 ${UNLOCKED}`;
const OF_REVOKED = `SELECT r.key_id, r.id FROM ${WITH_SUM}
  JOIN gateway.accounts a ON a.key_id = b.key_id AND a.status = 'revoked'
  WHERE b.bytes > 0 LIMIT $1 ${UNLOCKED}`;

/** Those that have expired, and those of keys that were revoked. */
export async function pruneResponses(connection: Connection, nowMs: number): Promise<Pruned> {
  let removed = 0;
  let more = false;
  const finds = [[EXPIRED, [PRUNED_RESPONSES_MAX, nowMs]] as const, [OF_REVOKED, [PRUNED_RESPONSES_MAX]] as const];
  for (const [find, values] of finds) {
    const rows = await connection.query(
      `DELETE FROM gateway.responses WHERE (key_id, id) IN (${find}) RETURNING 1`,
      values,
    );
    removed += rows.length;
    more ||= rows.length >= PRUNED_RESPONSES_MAX;
  }
  return { removed, more };
}
