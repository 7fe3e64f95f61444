import type { StatementSync } from 'node:sqlite';

/** The statements of a connection of the ledger's, each prepared when it is first asked for. */
export type ColdStatements = (sql: string) => StatementSync;
