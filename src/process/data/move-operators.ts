/** Operators, their tokens and the audit trail move with the ledger, between `operators.db` and PostgreSQL. */
import { existsSync } from 'node:fs';
import type { Beside, BesideInFile } from '../../ledger/transfer/move.ts';
import type { PostgresSide } from '../../ledger/transfer/postgres-side.ts';
import { SqliteSide } from '../../ledger/transfer/sqlite-side.ts';
import { tablesBeside } from '../../ledger/transfer/tables.ts';
import { createOperatorTables, OPERATOR_SCHEMA_TABLE } from '../../operators/postgres.ts';
import { SQLITE_MIGRATIONS } from '../../operators/schema.ts';
import { StoreError } from '../../storage/errors.ts';
import { migrateFile } from '../../storage/sqlite.ts';

/** The table with the built-in owner, whom both engines have from the beginning. */
const OPERATORS = 'operators';
/** Whatever operators change is in it, and nothing leaves it. */
const TRAIL = 'audit_trail';

/** Where there is no file, nobody has administered the gateway, and nothing moves. `moved`: its name after a move. */
export function operatorsToPostgres(file: string, moved: string): BesideInFile & Disposable {
  const source = new SqliteSide(existsSync(file) ? file : ':memory:');
  migrateFile(source.database, SQLITE_MIGRATIONS);
  const schema = source.schema();
  return {
    tables: new Set([...schema.keys(), OPERATOR_SCHEMA_TABLE]),
    changes: existsSync(moved) && !existsSync(file) ? changesOf(moved) : source.count(countOf(TRAIL)),
    prepare: createOperatorTables,
    move: async (target) => {
      for (const table of ['operator_credentials', TRAIL]) {
        if ((await countIn(target, table)) === 0) continue;
        throw new StoreError('This database has operators already: a ledger moves into an empty one only.');
      }
      await target.empty(OPERATORS);
      for (const table of tablesBeside(schema, await target.schema(), await target.parents())) {
        await target.add(table, source.rows(table));
        requireEqual(table.name, source.count(countOf(table.name)), await countIn(target, table.name));
      }
    },
    [Symbol.dispose]: () => source[Symbol.dispose](),
  };
}

/** A move was interrupted when it had given this file its new name. */
function changesOf(moved: string): number {
  using source = new SqliteSide(moved);
  return source.count(countOf(TRAIL));
}

interface OperatorsFromPostgres extends Beside, Disposable {
  /** When the move has succeeded. */
  commit(): void;
}

/** Into a new file, which the caller puts in its place. */
export function operatorsFromPostgres(file: string): OperatorsFromPostgres {
  const target = new SqliteSide(file);
  migrateFile(target.database, SQLITE_MIGRATIONS);
  const schema = target.schema();
  target.database.exec('BEGIN IMMEDIATE');
  return {
    tables: new Set([...schema.keys(), OPERATOR_SCHEMA_TABLE]),
    prepare: createOperatorTables,
    move: async (source) => {
      target.database.exec(`DELETE FROM ${OPERATORS}`);
      for (const table of tablesBeside(schema, await source.schema(), await source.parents())) {
        const add = target.adder(table);
        for await (const row of source.rows(table)) add(row);
        requireEqual(table.name, await countIn(source, table.name), target.count(countOf(table.name)));
      }
    },
    commit: () => target.database.exec('COMMIT'),
    [Symbol.dispose]: () => target[Symbol.dispose](),
  };
}

function countOf(table: string, schema = ''): string {
  return `SELECT count(*) AS n FROM ${schema}${table}`;
}

function countIn(side: PostgresSide, table: string): Promise<number> {
  return side.count(countOf(table, 'gateway.'));
}

function requireEqual(table: string, before: number, after: number): void {
  if (before === after) return;
  throw new StoreError(`Source and target have ${before} and ${after} rows of ${table}: nothing was moved.`);
}
