/** Operators in a file beside the embedded store, or in the database that all gateways share. */
import { operatorsFile } from '../admin/data-folder.ts';
import type { AlertStore } from '../alerts/port.ts';
import { SqlAlertStore } from '../alerts/sql-store.ts';
import type { Settings } from '../config/config.ts';
import type { Clock } from '../core/clock.ts';
import { asStoreError } from '../ledger/errors.ts';
import { openLogFile } from '../ledger/sqlite/wal-file.ts';
import { Operators } from '../operators/operators.ts';
import { EndedPageSessions } from '../operators/page-sessions.ts';
import { type SqlEngine, SqlOperatorStore } from '../operators/sql-store.ts';
import { openSqliteEngine } from '../operators/sqlite.ts';

const STATEMENT_TIMEOUT_MS = 10_000;
const LOCK_TIMEOUT_MS = 5_000;

/** The file or the tables of operators, and of what else belongs to the operator's side. */
interface OperatorData {
  readonly operators: Operators;
  readonly alertStore: AlertStore;
  readonly endedPageSessions: EndedPageSessions;
  close(): Promise<void>;
}

/** Nothing is opened before it is needed. The ledger must be open: the lock of the data folder, or the schema, is its own. */
export function openOperatorData(settings: Settings, installationSecret: string, clock: Clock): OperatorData {
  let opening: Promise<SqlEngine> | null = null;
  const open = (): Promise<SqlEngine> => {
    opening ??= openEngine(settings).catch((error: unknown) => {
      // The next one tries again.
      opening = null;
      throw error;
    });
    return opening;
  };
  const openStore = async () => new SqlOperatorStore(await open());
  return {
    operators: new Operators({ openStore, installationSecret, clock }),
    alertStore: new SqlAlertStore(open),
    endedPageSessions: new EndedPageSessions(open),
    close: async () => {
      const engine = await opening?.catch(() => null);
      await engine?.close();
    },
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
  const { Connection } = await import('../ledger/postgres/connection.ts');
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
