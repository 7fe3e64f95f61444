/**
 * Charges that are in the journal and in memory, and not in the database: its next transaction takes all of them along,
 * whatever that is for. With it the journal begins a new generation, and what the old one had counts no longer.
 *
 * A charge goes into the journal only while the disk has every commit before it. So the database and the journal's records
 * of its generation are, after a crash or a loss of power, what was decided up to one moment, in its order.
 *
 * Saves 21 of 297 µs (W1, 40 rounds side by side), and 86 of 998 one at a time; without it: a commit of the database for
 * every batch of charges.
 */
import { randomInt } from 'node:crypto';
import type { StatementSync } from 'node:sqlite';
import { integer, text } from '../../storage/columns.ts';
import { payerOf } from '../engine/key-state.ts';
import type { Operation } from '../operations.ts';
import type { ChargeJournal, JournalBatch, JournalRow, JournalState } from './charge-journal.ts';
import type { KeyCache } from './key-cache.ts';
import type { ColdStatements, Statements } from './statements.ts';

/** So many are taken along by the next batch at the latest. It takes them 8 µs each, while nobody else is served. */
const CHARGES_MAX = 64;
const GENERATIONS = 2 ** 48 - 1;

export class ChargeTail {
  readonly #sql: Statements;
  readonly #journal: ChargeJournal;
  #generation: number;
  /** Written by a transaction that is not committed yet. */
  #nextGeneration: number | null = null;
  readonly #batches: JournalBatch[] = [];
  #charges = 0;
  /** Memory does not have them any more. */
  #lost = false;
  /** A record that is in the file and may not count: nothing is written behind it. */
  #spoilt = false;

  constructor(sql: Statements, journal: ChargeJournal) {
    this.#sql = sql;
    this.#journal = journal;
    this.#generation = readJournalState(sql.cold).generation;
  }

  /** Whether the journal takes so many more now. */
  hasRoom(charges: number): boolean {
    return !this.#lost && !this.#spoilt && this.#charges + charges <= CHARGES_MAX;
  }

  /** Whether the database lacks something that memory does not have either: only a transaction can decide then. */
  get lost(): boolean {
    return this.#lost;
  }

  get length(): number {
    return this.#charges;
  }

  /** Throws a `StoreError` when it cannot be written. */
  add(batch: JournalBatch, owners: readonly string[]): void {
    this.#spoilt = true;
    this.#journal.write({ generation: this.#generation, owners }, batch);
    this.#spoilt = false;
    this.#batches.push(batch);
    this.#charges += batch.entries.length;
  }

  /** At the beginning of a transaction: what memory lost is in the database before anything is read. */
  restore(): void {
    if (this.#lost) for (const batch of this.#batches) writeBatch(this.#sql, batch);
  }

  /** At the end of a transaction that has written everything. */
  taken(): void {
    if (this.#charges === 0 && !this.#spoilt) return;
    this.#nextGeneration = newGeneration(this.#sql.cold);
  }

  committed(): void {
    if (this.#nextGeneration === null) return;
    this.#generation = this.#nextGeneration;
    this.#nextGeneration = null;
    this.#batches.length = 0;
    this.#charges = 0;
    this.#lost = false;
    this.#spoilt = false;
    this.#journal.startOver();
  }

  rolledBack(): void {
    this.#nextGeneration = null;
    this.#lost = this.#charges > 0;
  }
}

/**
 * Whether memory alone has all that the operation changes: it ends a hold without a row, which has neither a claim nor a run,
 * and nothing of it is paid by promotional credit.
 */
export function isOfMemory(keys: KeyCache, operation: Operation): boolean {
  if (operation.op !== 'settle') return false;
  const { keyId, holdId, kept, run } = operation.request;
  const state = keys.get(keyId);
  const hold = state?.holds.get(holdId);
  if (state === undefined || hold === undefined || hold.persisted || hold.claimName !== null) return false;
  return !kept && !run && payerOf(state).promotions === null;
}

/** Adds to the database what its journal has, in a transaction, and before owners are removed. */
export function recoverCharges(sql: Statements, journal: ChargeJournal): void {
  for (const batch of journal.read(readJournalState(sql.cold))) writeBatch(sql, batch);
  newGeneration(sql.cold);
}

function readJournalState(sql: ColdStatements): JournalState {
  const row = sql('SELECT generation FROM charge_journal').get();
  if (row === undefined) throw new Error('the database has no generation of its journal');
  const owners = sql('SELECT id FROM owners').all();
  return { generation: integer(row, 'generation'), owners: owners.map((owner) => text(owner, 'id')) };
}

function newGeneration(sql: ColdStatements): number {
  const generation = randomInt(1, GENERATIONS);
  sql('UPDATE charge_journal SET generation = ?').run(generation);
  return generation;
}

function writeBatch(sql: Statements, { entries, usage, unrolled, keys, accounts }: JournalBatch): void {
  for (const [rows, insert] of [
    [entries, sql.charges],
    [usage, sql.usage],
    [unrolled, sql.unrolled],
  ] as const) {
    for (const row of rows) insert.add(row);
    insert.write();
  }
  save(sql.saveTotals, keys);
  save(sql.saveNode, accounts);
}

function save(statement: StatementSync, rows: readonly JournalRow[]): void {
  for (const row of rows) statement.run(...row);
}
