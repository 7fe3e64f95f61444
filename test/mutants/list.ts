/**
 * Ways to break the product on purpose. Each must be noticed by the tests that it names, or a real mistake of the same kind
 * would not be noticed either. The ledger on SQLite has more of them, in `test/simulation/mutations.ts`.
 */
import type { Edit } from '../support/edits.ts';
import { ACCESS_MUTANTS } from './list-access.ts';
import { CHARGE_JOURNAL_MUTANTS } from './list-charge-journal.ts';
import { EXCHANGE_MUTANTS } from './list-exchange.ts';
import { HOLD_MUTANTS } from './list-holds.ts';
import { HTTP_MUTANTS } from './list-http.ts';
import { LEDGER_MUTANTS } from './list-ledger.ts';
import { POSTGRES_MUTANTS } from './list-postgres.ts';
import { PRICE_MUTANTS } from './list-prices.ts';
import { RUN_MUTANTS } from './list-runs.ts';
import { WIRE_MUTANTS } from './list-wire.ts';

/** A test file, and parts of the names of the tests in it that are enough; all of them where none is named. */
export type TestRun = readonly [file: string, ...names: string[]];

export interface Mutant {
  readonly name: string;
  /** Of files below `src`. */
  readonly edits: readonly Edit[];
  /** In this order, until one is red. */
  readonly tests: readonly TestRun[];
}

export const MUTANTS: readonly Mutant[] = [
  ...LEDGER_MUTANTS,
  ...CHARGE_JOURNAL_MUTANTS,
  ...POSTGRES_MUTANTS,
  ...EXCHANGE_MUTANTS,
  ...WIRE_MUTANTS,
  ...PRICE_MUTANTS,
  ...HOLD_MUTANTS,
  ...HTTP_MUTANTS,
  ...RUN_MUTANTS,
  ...ACCESS_MUTANTS,
];
