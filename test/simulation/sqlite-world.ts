/** Simulated schedules on SQLite: in memory for speed, or in a file that is torn out of a running process. */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../../src/core/clock.ts';
import { readMigrations } from '../../src/ledger/migrations.ts';
import type { Operation, Result } from '../../src/ledger/operations.ts';
import { type ChargeJournal, createChargeJournal, openChargeJournal } from '../../src/ledger/sqlite/charge-journal.ts';
import { openDatabase } from '../../src/ledger/sqlite/database.ts';
import { createEngine, openEngine, type SqliteEngine } from '../../src/ledger/sqlite/engine.ts';
import { openRateJournal, type RateJournal, type RateSlot } from '../../src/ledger/sqlite/rate-journal.ts';
import { aroundCommits } from '../support/commits.ts';
import { emptyStore } from '../support/empty-store.ts';
import { MemoryChargeJournal, MemoryJournal } from './memory-journals.ts';
import type { Applied, Backend, Fault, Survivors, World } from './world.ts';

/** The parts of the store under test; a mutant brings its own. */
export interface SqliteParts {
  readonly createEngine: typeof createEngine;
  readonly readMigrations: typeof readMigrations;
}

const UNLIMITED_PAGES = 2 ** 31 - 2;

/** A crash that leaves no trace but what had been committed. */
class Crash extends Error {}

export function sqliteInMemory(parts: SqliteParts = { createEngine, readMigrations }): Backend {
  const pages = emptyPages(parts.readMigrations('sqlite').map(({ sql }) => sql));
  return {
    name: 'SQLite',
    exclusive: true,
    open: async (clock) => {
      const database = interceptable(new DatabaseSync(':memory:', { readBigInts: true }));
      database.deserialize(pages);
      database.exec('PRAGMA foreign_keys = ON');
      return new MemoryWorld(database, clock, parts.createEngine);
    },
  };
}

/** By the text of the migrations; mutants bring their own. */
const migrated = new Map<string, Uint8Array>();

/** The pages of an empty database. A copy of them takes half a millisecond, the migrations take 15. */
function emptyPages(migrations: readonly string[]): Uint8Array {
  const text = migrations.join('\n');
  const known = migrated.get(text);
  if (known !== undefined) return known;
  const database = new DatabaseSync(':memory:');
  database.exec(text);
  const pages = database.serialize();
  database.close();
  migrated.set(text, pages);
  return pages;
}

class MemoryWorld implements World {
  readonly #database: DatabaseSync;
  readonly #clock: Clock;
  readonly #createEngine: typeof createEngine;
  readonly #journal = new MemoryJournal();
  readonly #charges = new MemoryChargeJournal();
  #engine: SqliteEngine;

  constructor(database: DatabaseSync, clock: Clock, create: typeof createEngine) {
    this.#database = database;
    this.#clock = clock;
    this.#createEngine = create;
    this.#engine = this.#open();
  }

  #open(): SqliteEngine {
    return this.#createEngine({
      database: this.#database,
      clock: this.#clock,
      journal: this.#journal,
      charges: this.#charges,
    });
  }

  async apply(batch: readonly Operation[], fault: Fault): Promise<Applied> {
    switch (fault) {
      case 'none':
        return { applied: true, results: decide(this.#engine, batch) };
      case 'lost':
      case 'crash_after':
        decide(this.#engine, batch);
        return { applied: true, results: null };
      case 'full':
        return applyOnFullDisk(this.#database, this.#engine, batch);
      case 'refused':
      case 'crash_inside':
        return this.#failCommit(batch);
      case 'crash_before':
        return { applied: false, results: null };
    }
  }

  /** Everything is written, nothing is committed; the process goes on with what it knew before, or dies. */
  #failCommit(batch: readonly Operation[]): Applied {
    const restore = interceptCommit(this.#database, () => {
      throw new Crash();
    });
    try {
      this.#engine.apply(batch);
      throw new Error('the commit did not fail');
    } catch (error) {
      if (!(error instanceof Error && error.cause instanceof Crash)) throw error;
      return { applied: false, results: null };
    } finally {
      restore();
    }
  }

  /** What the process knew is gone, what was committed is there. */
  async restart(): Promise<Survivors> {
    const survivors = survivorsIn(this.#database, this.#journal, this.#charges);
    this.#engine = this.#open();
    return survivors;
  }

  async close(): Promise<void> {
    this.#engine.close();
  }
}

/** The same on a real file: a crash takes the bytes that the file system has at that moment. */
export function sqliteInFile(): Backend {
  return {
    name: 'SQLite in a file',
    exclusive: true,
    open: async (clock) => new FileWorld(clock),
  };
}

class FileWorld implements World {
  readonly #folder = mkdtempSync(join(tmpdir(), 'gateway-simulation-'));
  readonly #clock: Clock;
  #generation = 0;
  #database: DatabaseSync;
  #engine: SqliteEngine;

  constructor(clock: Clock) {
    this.#clock = clock;
    emptyStore(this.#file());
    [this.#database, this.#engine] = this.#open();
  }

  async apply(batch: readonly Operation[], fault: Fault, cut: number): Promise<Applied> {
    switch (fault) {
      case 'none':
        return { applied: true, results: decide(this.#engine, batch) };
      case 'lost':
        decide(this.#engine, batch);
        return { applied: true, results: null };
      case 'full':
        return applyOnFullDisk(this.#database, this.#engine, batch);
      case 'refused':
        return { applied: false, results: null };
      case 'crash_before':
        this.#leave();
        return { applied: false, results: null };
      case 'crash_after':
        decide(this.#engine, batch);
        this.#leave();
        return { applied: true, results: null };
      case 'crash_inside':
        return this.#tear(batch, cut);
    }
  }

  /** The process died when only a part of what the commit wrote was in the log. */
  #tear(batch: readonly Operation[], cut: number): Applied {
    let beforeBytes = 0;
    let journal: Buffer | null = null;
    const restore = interceptCommit(this.#database, (commit) => {
      beforeBytes = this.#logBytes();
      journal = readFileSync(`${this.#file()}-rates`);
      commit();
    });
    this.#engine.apply(batch);
    restore();
    const afterBytes = this.#logBytes();
    this.#leave();
    truncateSync(`${this.#file()}-wal`, beforeBytes + Math.floor(((afterBytes - beforeBytes) * cut) / 100));
    if (journal !== null) writeFileSync(`${this.#file()}-rates`, journal);
    // A commit without a change writes nothing, so nothing of it can be missing.
    return { applied: afterBytes === beforeBytes, results: null };
  }

  async restart(): Promise<Survivors> {
    this.#engine.close();
    const survivors = this.#survivors();
    [this.#database, this.#engine] = this.#open();
    return survivors;
  }

  #survivors(): Survivors {
    const database = openDatabase(this.#file());
    const journal = openRateJournal(this.#file());
    try {
      return survivorsIn(database, journal, openChargeJournal(this.#file()));
    } finally {
      database.close();
      journal.close();
    }
  }

  async close(): Promise<void> {
    this.#engine.close();
    rmSync(this.#folder, { recursive: true });
  }

  /** The next process finds what is on the disk now; whatever this one still does is lost. */
  #leave(): void {
    const from = this.#file();
    this.#generation++;
    for (const part of ['', '-wal', '-rates', '-charges']) copyFileSync(`${from}${part}`, `${this.#file()}${part}`);
  }

  #open(): [DatabaseSync, SqliteEngine] {
    createChargeJournal(this.#file());
    const database = interceptable(openDatabase(this.#file()));
    // A power failure is not simulated; without the waits for the disk everything else is the same.
    database.exec('PRAGMA synchronous = OFF');
    return [database, openEngine(database, this.#file(), this.#clock)];
  }

  #file(): string {
    return join(this.#folder, `ledger-${this.#generation}.db`);
  }

  #logBytes(): number {
    return statSync(`${this.#file()}-wal`).size;
  }
}

/**
 * As the serving thread does it: what memory can decide is decided there at once, what stands between goes in batches, by the
 * journal of charges where that takes them. It takes all of a batch or nothing, so that every other time settlements go by
 * twos, and not with what is around them.
 */
function decide(engine: SqliteEngine, batch: readonly Operation[]): readonly Result[] {
  const results: Result[] = [];
  const waiting: Operation[] = [];
  const apply = (): readonly Result[] => {
    const together = waiting.splice(0);
    return together.length === 0 ? [] : (engine.chargeNow(together) ?? engine.apply(together));
  };
  for (const operation of batch) {
    const like = (operation.op === 'settle') === (waiting[0]?.op === 'settle') && waiting[1]?.op !== 'settle';
    const together = like || batch.length % 2 === 1;
    if (operation.op === 'admit' || !together) results.push(...apply());
    const outcome = engine.now(operation);
    if (outcome === null) waiting.push(operation);
    else results.push(outcome);
  }
  return [...results, ...apply()];
}

/** The files alone, without anything that the process knew. */
function survivorsIn(database: DatabaseSync, journal: RateJournal, charges: ChargeJournal): Survivors {
  const known = database.prepare(`SELECT key_id || ' ' || id AS name FROM holds
    UNION ALL SELECT key_id || ' ' || id FROM entries WHERE kind = 'charge'
    UNION ALL SELECT key_id || ' ' || hold_id FROM voided`);
  const saved = savedSlots(database);
  // Numbers begin anew where a batch prunes all that a key had. One that was torn has told nobody of its slots, and what the
  // file still has is then newer by its number.
  const isNewer = (slot: RateSlot): boolean =>
    !saved.some((other) => isOfSameLimit(slot, other) && other.number >= slot.number);
  const slots = [...saved, ...journal.read().filter(isNewer)];
  const places = byKey(slots.filter(({ tokens }) => tokens === undefined));
  const tokens = byKey(slots.filter((slot) => slot.tokens !== undefined));
  return {
    holds: new Set([...known.all().map(({ name }) => String(name)), ...journalledHolds(database, charges)]),
    places: new Map([...places].map(([keyId, taken]) => [keyId, taken.map(({ atMs }) => atMs)])),
    tokens: new Map([...tokens].map(([keyId, taken]) => [keyId, taken.map((slot) => ({ tokens: 0, ...slot }))])),
  };
}

function journalledHolds(database: DatabaseSync, charges: ChargeJournal): readonly string[] {
  const { generation } = database.prepare('SELECT generation FROM charge_journal').get() ?? {};
  const owners = database.prepare('SELECT id FROM owners').all();
  const batches = charges.read({ generation: Number(generation), owners: owners.map(({ id }) => String(id)) });
  return batches.flatMap(({ entries }) => entries.map(([keyId, , holdId]) => `${keyId} ${holdId}`));
}

function savedSlots(database: DatabaseSync): readonly RateSlot[] {
  const rows = database.prepare(`SELECT key_id, number, times, NULL AS tokens FROM rates
    UNION ALL SELECT key_id, number, times, tokens FROM token_rates ORDER BY number`);
  return rows.all().flatMap(({ key_id: keyId, number, times, tokens }) =>
    (JSON.parse(String(times)) as number[]).map((atMs, index): RateSlot => {
      const slot = { keyId: String(keyId), number: Number(number) + index, atMs };
      return tokens === null ? slot : { ...slot, tokens: (JSON.parse(String(tokens)) as number[])[index] ?? 0 };
    }),
  );
}

function isOfSameLimit(one: RateSlot, other: RateSlot): boolean {
  return one.keyId === other.keyId && (one.tokens === undefined) === (other.tokens === undefined);
}

/** The first of each number counts: what is saved may be in the journal as well. */
function byKey(slots: readonly RateSlot[]): ReadonlyMap<string, readonly RateSlot[]> {
  const found = new Map<string, Map<number, RateSlot>>();
  for (const slot of slots) {
    const ofKey = found.get(slot.keyId) ?? new Map<number, RateSlot>();
    if (!ofKey.has(slot.number)) ofKey.set(slot.number, slot);
    found.set(slot.keyId, ofKey);
  }
  return new Map([...found].map(([keyId, ofKey]) => [keyId, [...ofKey.values()]]));
}

type Around = (commit: () => void) => void;

/** What stands around each commit of a database, where something does. */
const AROUND = new WeakMap<DatabaseSync, Around>();

/** Lets `interceptCommit` work. */
function interceptable(database: DatabaseSync): DatabaseSync {
  aroundCommits(database, (commit) => {
    const around = AROUND.get(database);
    if (around === undefined) commit();
    else around(commit);
  });
  return database;
}

/** Calls `around` in place of each commit until the returned function is called. */
function interceptCommit(database: DatabaseSync, around: Around): () => void {
  AROUND.set(database, around);
  return () => void AROUND.delete(database);
}

function applyOnFullDisk(database: DatabaseSync, engine: SqliteEngine, batch: readonly Operation[]): Applied {
  const { page_count: pages } = database.prepare('PRAGMA page_count').get() ?? {};
  database.exec(`PRAGMA max_page_count = ${pages}`);
  try {
    return { applied: true, results: engine.apply(batch) };
  } catch (error) {
    // By its name: a mutant has a class of its own.
    if (!(error instanceof Error) || error.name !== 'StoreError') throw error;
    return { applied: false, results: null };
  } finally {
    database.exec(`PRAGMA max_page_count = ${UNLIMITED_PAGES}`);
  }
}
