/**
 * Slots of rate limits that the database does not have yet, in a file beside it. A short append without a flush survives the
 * death of the process, and costs less than a transaction per request; slots that are taken together share one. When the
 * database has the slots, the file is emptied.
 */
import { closeSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { StatementSync } from 'node:sqlite';
import { StoreError } from '../../storage/errors.ts';
import { readRun } from './rate-window.ts';
import type { Statements } from './statements.ts';

/** What the gateway's own ids are made of: nothing of it has to be escaped. */
const PLAIN_ID = /^\w+$/;

export interface RateSlot {
  readonly keyId: string;
  /** Slots of a key are numbered without gaps. */
  readonly number: number;
  readonly atMs: number;
  /** Of a limit on tokens per minute, which has numbers of its own: how many it counts. */
  readonly tokens?: number;
}

export interface RateJournal {
  /** What `truncate` takes; of what was written. */
  readonly position: number;
  /** The next `write` writes it. */
  append(slot: RateSlot): void;
  /** Writes what was appended. Throws a `StoreError` when it cannot; then nothing of that is there. */
  write(): void;
  /** Forgets everything that was appended or written after this position; 0 empties it. */
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
  #unwritten = '';

  constructor(path: string) {
    this.#path = path;
    this.#file = openSync(path, 'a');
    this.#position = readFileSync(path).length;
  }

  get position(): number {
    return this.#position;
  }

  append({ keyId, number, atMs, tokens }: RateSlot): void {
    // Each slot begins a line of its own, so that one which was cut short spoils no other.
    const id = PLAIN_ID.test(keyId) ? `"${keyId}"` : JSON.stringify(keyId);
    this.#unwritten += tokens === undefined ? `\n[${id},${number},${atMs}]` : `\n[${id},${number},${atMs},${tokens}]`;
  }

  write(): void {
    const lines = this.#unwritten;
    if (lines === '') return;
    this.#unwritten = '';
    try {
      const bytes = writeSync(this.#file, lines);
      if (bytes === Buffer.byteLength(lines)) {
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
    this.#unwritten = '';
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

/** Writes into the database what the journal has and it does not. */
export function saveJournal(sql: Statements, slots: readonly RateSlot[]): void {
  const requests = slots.filter(({ tokens }) => tokens === undefined);
  for (const [keyId, run] of unsavedRuns(sql.ratesOfKey, requests)) {
    sql.addRates.run(keyId, run.number, JSON.stringify(run.times), run.newestMs);
  }
  const tokens = slots.filter((slot) => slot.tokens !== undefined);
  for (const [keyId, run] of unsavedRuns(sql.tokenRatesOfKey, tokens)) {
    sql.addTokenRates.run(keyId, run.number, JSON.stringify(run.times), JSON.stringify(run.tokens), run.newestMs);
  }
}

interface UnsavedRun {
  readonly number: number;
  readonly times: readonly number[];
  readonly tokens: readonly number[];
  readonly newestMs: number;
}

/** By key. */
function unsavedRuns(savedRuns: StatementSync, slots: readonly RateSlot[]): ReadonlyMap<string, UnsavedRun> {
  const byKey = new Map<string, Map<number, RateSlot>>();
  for (const slot of slots) {
    const ofKey = byKey.get(slot.keyId) ?? new Map<number, RateSlot>();
    byKey.set(slot.keyId, ofKey.set(slot.number, slot));
  }
  const runs = new Map<string, UnsavedRun>();
  for (const [keyId, ofKey] of byKey) {
    const newest = savedRuns.all(keyId).map(readRun).at(-1);
    const saved = newest === undefined ? -1 : newest.number + newest.times.length - 1;
    const unsaved = [...ofKey.values()].filter(({ number }) => number > saved).sort((a, b) => a.number - b.number);
    const [first, last] = [unsaved[0], unsaved.at(-1)];
    if (first === undefined || last === undefined) continue;
    const times = unsaved.map(({ atMs }) => atMs);
    runs.set(keyId, {
      number: first.number,
      times,
      tokens: unsaved.map((slot) => slot.tokens ?? 0),
      newestMs: last.atMs,
    });
  }
  return runs;
}

function slotFrom(line: string): readonly RateSlot[] {
  try {
    const [keyId, number, atMs, tokens] = JSON.parse(line) as readonly unknown[];
    if (typeof keyId !== 'string' || typeof number !== 'number' || typeof atMs !== 'number') return [];
    return [typeof tokens === 'number' ? { keyId, number, atMs, tokens } : { keyId, number, atMs }];
  } catch {
    // Cut short by the death of its process, which then never forwarded the request.
    return [];
  }
}
