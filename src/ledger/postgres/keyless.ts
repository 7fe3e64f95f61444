/** Operations of requests and of their owners that are about no key: one statement each. */
import { integer } from '../../storage/columns.ts';
import { Refusal } from '../../storage/errors.ts';
import type { Connection } from '../../storage/postgres/connection.ts';
import type { Operation, OperationOf, Outcome } from '../operations.ts';
import { KEY_COLUMNS, keyFrom } from '../rules/row-mapping.ts';
import type { LedgerClock } from './ledger-clock.ts';
import { columnsOf } from './rows.ts';

const NAMES = ['findKey', 'registerOwner', 'heartbeat', 'ping'] as const;
const KEYLESS: ReadonlySet<string> = new Set(NAMES);

type KeylessOperation = OperationOf<(typeof NAMES)[number]>;

export function isKeyless(operation: Operation): operation is KeylessOperation {
  return KEYLESS.has(operation.op);
}

const FIND = `SELECT ${columnsOf('a', ['key_id', ...KEY_COLUMNS])}
  FROM gateway.secrets s JOIN gateway.accounts a ON a.key_id = s.key_id WHERE s.digest = $1`;
/** A statement can arrive long after it was given up: a lease never becomes shorter. */
const REGISTER = `INSERT INTO gateway.owners (id, lease_until_ms) VALUES ($1, gateway.ledger_ms($3, $4) + $2::bigint)
  ON CONFLICT (id) DO UPDATE SET lease_until_ms = greatest(owners.lease_until_ms, excluded.lease_until_ms)`;
const HEARTBEAT = `UPDATE gateway.owners SET lease_until_ms = greatest(lease_until_ms, gateway.ledger_ms($3, $4) + $2::bigint)
  WHERE id = $1 RETURNING lease_until_ms`;
/** Not one row for all processes: they would wait for each other. */
const PING = `INSERT INTO gateway.pings (id, at_ms) SELECT pg_backend_pid() % 64, gateway.ledger_ms($1, $2)
  ON CONFLICT (id) DO UPDATE SET at_ms = excluded.at_ms RETURNING at_ms`;

export async function performKeyless(
  connection: Connection,
  clock: LedgerClock,
  operation: KeylessOperation,
): Promise<Outcome> {
  switch (operation.op) {
    case 'findKey': {
      const [row] = await connection.query(FIND, [operation.digest], 'find-key');
      return row === undefined ? null : keyFrom(row);
    }
    case 'registerOwner':
      checkLease(operation.leaseMs);
      await connection.query(REGISTER, [operation.owner, operation.leaseMs, ...clock.values()]);
      return null;
    case 'heartbeat': {
      checkLease(operation.leaseMs);
      const [row] = await connection.query(HEARTBEAT, [operation.owner, operation.leaseMs, ...clock.values()]);
      return row === undefined ? { kind: 'owner_lost' } : { kind: 'alive', untilMs: integer(row, 'lease_until_ms') };
    }
    case 'ping': {
      const [row] = await connection.query(PING, clock.values());
      if (row !== undefined) clock.saw(integer(row, 'at_ms'));
      return null;
    }
  }
}

function checkLease(leaseMs: number): void {
  if (!Number.isSafeInteger(leaseMs) || leaseMs < 0) throw new Refusal(`a lease of ${leaseMs} is out of range`);
}
