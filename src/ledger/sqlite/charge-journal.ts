/**
 * Charges that the database does not have yet, in a file beside it: a commit of eight of them writes nine pages of 4 KB to
 * the database's log, and 3 KB here. The file has its size from the beginning, so that a flush of it writes data only.
 *
 * Charges of a batch are one record: how long it is, the CRC-32 of the rest, and JSON. What was cut short by a loss of power
 * has not been flushed, and nobody was told of it.
 */
import { closeSync, fstatSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { SQLInputValue } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { errorCode } from '../../lib/error-code.ts';
import { StoreError } from '../../storage/errors.ts';

const FILE_BYTES = 256 * 1_024;
const HEAD_BYTES = 8;

export type JournalRow = readonly SQLInputValue[];

/** What a batch adds to the tables and sets in them, as their statements take it. */
export interface JournalBatch {
  readonly entries: readonly JournalRow[];
  readonly usage: readonly JournalRow[];
  readonly unrolled: readonly JournalRow[];
  readonly keys: readonly JournalRow[];
  readonly accounts: readonly JournalRow[];
}

/** What the database must say, so that a record adds to it what it lacks. */
export interface JournalState {
  readonly generation: number;
  /** A release that does not know of journals takes these away when it opens the database. */
  readonly owners: readonly string[];
}

export interface ChargeJournal {
  /** Behind what was written since `startOver`. Throws a `StoreError` when it cannot; then nothing of the batch counts. */
  write(state: JournalState, batch: JournalBatch): void;
  /** The database has everything, on the disk: what is written next takes the place of it. */
  startOver(): void;
  /** In the order in which they were written. */
  read(state: JournalState): readonly JournalBatch[];
  close(): void;
}

export function chargeJournalFile(databaseFile: string): string {
  return `${databaseFile}-charges`;
}

/** Made with its size, and flushed with the folder that names it: what is written to it later is then safe with a flush of its data. */
export function createChargeJournal(databaseFile: string): void {
  const path = chargeJournalFile(databaseFile);
  const file = openSync(path, 'a', 0o600);
  try {
    const missing = FILE_BYTES - fstatSync(file).size;
    if (missing <= 0) return;
    writeSync(file, Buffer.alloc(missing));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  if (process.platform === 'win32') return;
  const folder = openSync(dirname(path), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

export function openChargeJournal(databaseFile: string): ChargeJournal {
  return new ChargeJournalFile(chargeJournalFile(databaseFile));
}

class ChargeJournalFile implements ChargeJournal {
  readonly #path: string;
  /** Opened with the first write. */
  #file: number | null = null;
  #position = 0;

  constructor(path: string) {
    this.#path = path;
  }

  write(state: JournalState, batch: JournalBatch): void {
    const body = Buffer.from(JSON.stringify([state.generation, state.owners, ...encoded(batch)]));
    const record = Buffer.allocUnsafe(HEAD_BYTES + body.length);
    record.writeUInt32LE(body.length, 0);
    record.writeUInt32LE(crc32(body), 4);
    body.copy(record, HEAD_BYTES);
    if (this.#position + record.length > FILE_BYTES) throw new StoreError(`${this.#path} is full`);
    try {
      this.#file ??= openSync(this.#path, 'r+');
      if (writeSync(this.#file, record, 0, record.length, this.#position) === record.length) {
        this.#position += record.length;
        return;
      }
    } catch (error) {
      throw new StoreError(`cannot write ${this.#path}`, { cause: error });
    }
    throw new StoreError(`cannot write ${this.#path}: there is no room`);
  }

  startOver(): void {
    this.#position = 0;
  }

  read(state: JournalState): readonly JournalBatch[] {
    const bytes = fileBytes(this.#path);
    const batches: JournalBatch[] = [];
    for (let at = 0; at + HEAD_BYTES <= bytes.length; ) {
      const end = at + HEAD_BYTES + bytes.readUInt32LE(at);
      const body = bytes.subarray(at + HEAD_BYTES, end);
      if (end > bytes.length || body.length === 0 || crc32(body) !== bytes.readUInt32LE(at + 4)) break;
      const [generation, owners, ...rows] = JSON.parse(body.toString()) as [number, string[], ...EncodedBatch];
      if (!isSameState({ generation, owners }, state)) break;
      batches.push(decoded(rows));
      at = end;
    }
    return batches;
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
  }
}

function fileBytes(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return Buffer.alloc(0);
    throw new StoreError(`cannot read ${path}`, { cause: error });
  }
}

/** The owners in whatever order. */
export function isSameState(one: JournalState, other: JournalState): boolean {
  const ownersOf = ({ owners }: JournalState): string => JSON.stringify(owners.toSorted());
  return one.generation === other.generation && ownersOf(one) === ownersOf(other);
}

/** A whole number that JSON cannot have as one is a list with its digits. */
type EncodedValue = string | number | null | readonly [string];
type EncodedRows = readonly (readonly EncodedValue[])[];
type EncodedBatch = [EncodedRows, EncodedRows, EncodedRows, EncodedRows, EncodedRows];

function encoded({ entries, usage, unrolled, keys, accounts }: JournalBatch): EncodedBatch {
  return [encodedRows(entries), encodedRows(usage), encodedRows(unrolled), encodedRows(keys), encodedRows(accounts)];
}

function decoded([entries, usage, unrolled, keys, accounts]: EncodedBatch): JournalBatch {
  return {
    entries: decodedRows(entries),
    usage: decodedRows(usage),
    unrolled: decodedRows(unrolled),
    keys: decodedRows(keys),
    accounts: decodedRows(accounts),
  };
}

function encodedRows(rows: readonly JournalRow[]): EncodedRows {
  return rows.map((row) => row.map(encodedValue));
}

function encodedValue(value: SQLInputValue): EncodedValue {
  if (typeof value === 'bigint') {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : [String(value)];
  }
  if (value !== null && typeof value === 'object')
    throw new StoreError('bytes have no place in the journal of charges');
  return value;
}

function decodedRows(rows: EncodedRows): readonly JournalRow[] {
  return rows.map((row) =>
    row.map((value) => (typeof value === 'object' && value !== null ? BigInt(value[0]) : value)),
  );
}
