/**
 * The windows of the rate limits in use. What is taken of one is in the journal before anybody is told of it, and in the
 * database from time to time; a rollback gives it back.
 */
import type { StatementSync } from 'node:sqlite';
import { RATE_WINDOW_MS } from '../operations.ts';
import { COUNTED_TOKENS_MAX } from '../rules/limits.ts';
import type { RateJournal } from './rate-journal.ts';
import { RateWindow, readRun } from './rate-window.ts';
import type { Statements } from './statements.ts';
import { readTokenRun, TokenWindow } from './token-window.ts';

const RATES_DELETE_MIN = 1_024;
/** A batch leaves rates to a later one this soon after the last time. */
const RATES_SAVE_MS = 250;

/** How much of the lists that a rollback works through belongs to what came before. */
interface Savepoint {
  readonly taken: number;
  readonly saved: number;
  readonly journal: number;
}

/** A window with what the database does not have of it. */
interface Savable<Run> {
  unsaved(): Run | null;
  saved(run: Run): void;
  worthRemoving(requestsMin: number): boolean;
}

export class RateWindows {
  readonly #sql: Statements;
  readonly #journal: RateJournal;
  /** Windows with slots that the database does not have, by the key or account of the tree that they belong to. */
  readonly #unsavedRates = new Map<string, RateWindow>();
  /** Of keys and accounts with a limit on tokens, as they were asked. */
  readonly #tokens = new Map<string, TokenWindow>();
  readonly #unsavedTokens = new Map<string, TokenWindow>();
  #savedAtMs = 0;
  /** What a rollback must restore, or what is not in the journal yet where there is no transaction. */
  #taken: (RateWindow | TokenWindow)[] = [];
  #inTransaction = false;
  /** What the transaction has written; it counts as saved when that is committed. */
  #saved: (() => void)[] = [];
  #journalAtBegin = 0;
  #savepoint: Savepoint = { taken: 0, saved: 0, journal: 0 };

  constructor(sql: Statements, journal: RateJournal) {
    this.#sql = sql;
    this.#journal = journal;
  }

  /** Of a key or account that is being loaded. */
  requestsOf(id: string): RateWindow {
    return this.#unsavedRates.get(id) ?? new RateWindow(this.#sql.ratesOfKey.all(id).map(readRun));
  }

  /** Of a key or account that has a limit on tokens; without what has left the window. */
  tokensOf(id: string, nowMs: number): TokenWindow {
    let window = this.#tokens.get(id);
    if (window === undefined) {
      window = new TokenWindow(this.#sql.tokenRatesOfKey.all(id).map(readTokenRun));
      this.#tokens.set(id, window);
    }
    window.advance(nowMs);
    return window;
  }

  /** Safe from the death of the process after `writeJournal`, or `flush` in a transaction. */
  takeRequest(id: string, window: RateWindow, nowMs: number): void {
    this.#journal.append({ keyId: id, number: window.nextNumber, atMs: nowMs });
    this.#unsavedRates.set(id, window);
    window.take(nowMs);
    this.#taken.push(window);
  }

  /** As `takeRequest`, for a limit on tokens. */
  takeTokens(id: string, count: number, nowMs: number): void {
    if (count === 0) return;
    const tokens = Math.min(count, COUNTED_TOKENS_MAX);
    const window = this.tokensOf(id, nowMs);
    this.#journal.append({ keyId: id, number: window.nextNumber, atMs: nowMs, tokens });
    this.#unsavedTokens.set(id, window);
    window.take(nowMs, tokens);
    this.#taken.push(window);
  }

  /** Where there is no transaction, for all that one admission took. Whether it could; if not, nothing is taken. */
  writeJournal(): boolean {
    if (this.#taken.length === 0) return true;
    try {
      this.#journal.write();
      return true;
    } catch {
      this.#takeBack();
      return false;
    } finally {
      this.#taken = [];
    }
  }

  /** In a transaction, or what stands for one. */
  write(): void {
    this.#journal.write();
  }

  #takeBack(): void {
    for (const window of this.#taken) window.undo();
  }

  /** Whether the database lacks something. */
  get unwritten(): boolean {
    return this.#unsavedRates.size > 0 || this.#unsavedTokens.size > 0;
  }

  /** Writes what the journal lacks, and what the database lacks where it is time, or all the same. */
  flush(all: boolean, nowMs: number): void {
    this.#journal.write();
    if (!all && nowMs < this.#savedAtMs + RATES_SAVE_MS) return;
    const { addRates, deleteRates, addTokenRates, deleteTokenRates } = this.#sql;
    this.#save(this.#unsavedRates, nowMs, deleteRates, (id, { number, times }) => {
      addRates.run(id, number, JSON.stringify(times), times.at(-1) ?? 0);
    });
    this.#save(this.#unsavedTokens, nowMs, deleteTokenRates, (id, { number, times, tokens }) => {
      addTokenRates.run(id, number, JSON.stringify(times), JSON.stringify(tokens), times.at(-1) ?? 0);
    });
    this.#savedAtMs = nowMs;
  }

  #save<Run>(
    unsaved: Map<string, Savable<Run>>,
    nowMs: number,
    remove: StatementSync,
    add: (id: string, run: Run) => void,
  ): void {
    for (const [id, window] of unsaved) {
      const run = window.unsaved();
      if (run === null) unsaved.delete(id);
      else {
        add(id, run);
        this.#saved.push(() => {
          window.saved(run);
          if (window.unsaved() === null) unsaved.delete(id);
        });
      }
      if (window.worthRemoving(RATES_DELETE_MIN)) remove.run(id, nowMs - RATE_WINDOW_MS);
    }
  }

  begun(): void {
    this.#inTransaction = true;
    this.#journalAtBegin = this.#journal.position;
  }

  committed(): void {
    for (const saved of this.#saved) saved();
    this.#over();
    if (this.#journal.position > 0 && !this.unwritten) this.#journal.truncate(0);
  }

  rolledBack(): void {
    this.#takeBack();
    if (this.#inTransaction) this.#journal.truncate(this.#journalAtBegin);
    this.#over();
  }

  #over(): void {
    this.#inTransaction = false;
    if (this.#taken.length > 0) this.#taken = [];
    if (this.#saved.length > 0) this.#saved = [];
  }

  setSavepoint(): void {
    this.#savepoint = { taken: this.#taken.length, saved: this.#saved.length, journal: this.#journal.position };
  }

  rolledBackToSavepoint(): void {
    const { taken, saved, journal } = this.#savepoint;
    for (const window of this.#taken.splice(taken)) window.undo();
    this.#saved.splice(saved);
    this.#journal.truncate(journal);
  }

  /** Keeps what the database does not have; the rest is read again. */
  drop(): void {
    for (const [id, window] of this.#unsavedRates) if (window.unsaved() === null) this.#unsavedRates.delete(id);
    for (const [id, window] of this.#tokens) {
      if (window.unsaved() !== null) continue;
      this.#tokens.delete(id);
      this.#unsavedTokens.delete(id);
    }
  }
}
