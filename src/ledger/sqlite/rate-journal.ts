/**
 * Slots of rate limits that the database does not have yet, in a file beside it. A short append without a flush survives the
 * death of the process, and costs less than a transaction per request; when the database has the slots, the file is emptied.
 */
import { closeSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { StoreError } from '../errors.ts';
import { type RateRun, readRun } from './rate-window.ts';
import type { Statements } from './statements.ts';

export interface RateSlot {
  readonly keyId: string;
  /** Slots of a key are numbered without gaps. */
  readonly number: number;
  readonly atMs: number;
}

export interface RateJournal {
  /** What `truncate` takes. */
  readonly position: number;
  /** Throws a `StoreError` when it cannot be written; then nothing of the slot is there. */
  append(slot: RateSlot): void;
  /** Forgets everything that was appended after this position; 0 empties it. */
  truncate(position: number): void;
  read(): readonly RateSlot[];
  close(): void;
}

export function openRateJournal(databaseFile: string): RateJournal {
  return new RateJournalFile(`${databaseFile}-rates`);
}

class RateJournalFile implements RateJournal {
  readonly #path: string;
  readonly #file: number;
  #position: number;

  constructor(path: string) {
    this.#path = path;
    this.#file = openSync(path, 'a');
    this.#position = readFileSync(path).length;
  }

  get position(): number {
    return this.#position;
  }

  append({ keyId, number, atMs }: RateSlot): void {
    // Each slot begins a line of its own, so that one which was cut short spoils no other.
    const line = `\n${JSON.stringify([keyId, number, atMs])}`;
    try {
      const bytes = writeSync(this.#file, line);
      if (bytes >= line.length) {
        this.#position += bytes;
        return;
      }
      ftruncateSync(this.#file, this.#position);
    } catch (error) {
      throw new StoreError(`cannot write ${this.#path}`, { cause: error });
    }
    throw new StoreError(`cannot write ${this.#path}: there is no room`);
  }

  truncate(position: number): void {
    if (position === this.#position) return;
    ftruncateSync(this.#file, position);
    this.#position = position;
  }

  read(): readonly RateSlot[] {
    return readFileSync(this.#path, 'utf8').split('\n').flatMap(slotFrom);
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** What the journal has and the database does not, by key. */
export function unsavedRuns(sql: Statements, slots: readonly RateSlot[]): ReadonlyMap<string, RateRun> {
  const byKey = new Map<string, Map<number, number>>();
  for (const { keyId, number, atMs } of slots) {
    const times = byKey.get(keyId) ?? new Map<number, number>();
    byKey.set(keyId, times.set(number, atMs));
  }
  const runs = new Map<string, RateRun>();
  for (const [keyId, times] of byKey) {
    const newest = sql.ratesOfKey.all(keyId).map(readRun).at(-1);
    const saved = newest === undefined ? -1 : newest.number + newest.times.length - 1;
    const unsaved = [...times].filter(([number]) => number > saved).sort(([a], [b]) => a - b);
    const [first] = unsaved;
    if (first !== undefined) runs.set(keyId, { number: first[0], times: unsaved.map(([, atMs]) => atMs) });
  }
  return runs;
}

function slotFrom(line: string): readonly RateSlot[] {
  try {
    const [keyId, number, atMs] = JSON.parse(line) as [unknown, unknown, unknown];
    if (typeof keyId !== 'string' || typeof number !== 'number' || typeof atMs !== 'number') return [];
    return [{ keyId, number, atMs }];
  } catch {
    // Cut short by the death of its process, which then never forwarded the request.
    return [];
  }
}
