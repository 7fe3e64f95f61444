/** Operators in a file beside the embedded store, or in the database that all gateways share. */
import { operatorsFile } from '../admin/data-folder.ts';
import { SqlAlertStore } from '../alerts/sql-store.ts';
import type { Settings } from '../config/config.ts';
import type { Clock } from '../core/clock.ts';
import { openLogFile } from '../ledger/sqlite/wal-file.ts';
import { Definitions } from '../operators/definitions.ts';
import { Operators } from '../operators/operators.ts';
import { EndedPageSessions } from '../operators/page-sessions.ts';
import { SqlOperatorStore } from '../operators/sql-store.ts';
import { openSqliteEngine } from '../operators/sqlite.ts';
import { asStoreError } from '../storage/errors.ts';
import { lateEngine, type SqlEngine } from '../storage/sql-engine.ts';

const STATEMENT_TIMEOUT_MS = 10_000;
const LOCK_TIMEOUT_MS = 5_000;

/** The file or the tables of operators, and of what else belongs to the operator's side. */
export interface OperatorData {
  readonly operators: Operators;
  readonly alertStore: SqlAlertStore;
  readonly endedPageSessions: EndedPageSessions;
  readonly definitions: Definitions;
  close(): Promise<void>;
}

/** Nothing is opened before it is needed. The ledger must be open: the lock of the data folder, or the schema, is its own. */
export function openOperatorData(settings: Settings, installationSecret: string, clock: Clock): OperatorData {
  const engine = lateEngine(() => openEngine(settings));
  return {
    operators: new Operators({ store: new SqlOperatorStore(engine), installationSecret, clock }),
    alertStore: new SqlAlertStore(engine),
    endedPageSessions: new EndedPageSessions(engine),
    definitions: new Definitions(engine, installationSecret),
    close: () => engine.close(),
  };
}

async function openEngine({ databaseUrl, dataDir }: Settings): Promise<SqlEngine> {
  if (databaseUrl === null) {
    try {
      return openSqliteEngine({ file: operatorsFile(dataDir), openLog: openLogFile });
    } catch (error) {
      throw asStoreError(error);
    }
  }
  const { Connection } = await import('../storage/postgres/connection.ts');
  const { openPostgresEngine } = await import('../operators/postgres.ts');
  const connection = new Connection({
    url: databaseUrl,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    lockTimeoutMs: LOCK_TIMEOUT_MS,
  });
  try {
    return await openPostgresEngine(connection);
  } catch (error) {
    await connection.close();
    throw asStoreError(error);
  }
}
