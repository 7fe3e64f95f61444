/** Operators in a file beside the embedded store, or in the database that all gateways share. */
import { operatorsFile } from '../admin/data-folder.ts';
import type { Settings } from '../config/config.ts';
import type { Clock } from '../core/clock.ts';
import { asStoreError } from '../ledger/errors.ts';
import { openLogFile } from '../ledger/sqlite/wal-file.ts';
import { Operators } from '../operators/operators.ts';
import type { OperatorStore } from '../operators/port.ts';
import { openSqliteOperatorStore } from '../operators/sqlite.ts';

const STATEMENT_TIMEOUT_MS = 10_000;
const LOCK_TIMEOUT_MS = 5_000;

/** Nothing is opened before it is needed. The ledger must be open: the lock of the data folder, or the schema, is its own. */
export function openOperators(settings: Settings, installationSecret: string, clock: Clock): Operators {
  return new Operators({ openStore: () => openStore(settings), installationSecret, clock });
}

async function openStore({ databaseUrl, dataDir }: Settings): Promise<OperatorStore> {
  if (databaseUrl === null) {
    try {
      return openSqliteOperatorStore({ file: operatorsFile(dataDir), openLog: openLogFile });
    } catch (error) {
      throw asStoreError(error);
    }
  }
  const { Connection } = await import('../ledger/postgres/connection.ts');
  const { openPostgresOperatorStore } = await import('../operators/postgres.ts');
  const connection = new Connection({
    url: databaseUrl,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    lockTimeoutMs: LOCK_TIMEOUT_MS,
  });
  try {
    return await openPostgresOperatorStore(connection);
  } catch (error) {
    await connection.close();
    throw asStoreError(error);
  }
}
