/**
 * What operations work on: the statements, and the accounts of the keys in use with their live holds and rate windows.
 * Claims are written at once; charges, usage and an account's totals once per batch, before its commit; rates from time to
 * time, and until then they are in the journal. After a rollback everything in memory is dropped and read again, except for
 * the holds that only memory has.
 *
 * A hold may live in memory alone as long as it has neither a claim nor a mark: if the process dies, nothing is left of it,
 * which is what recovery would make of it anyway. It is persisted with its first mark, and before anything reads all holds.
 */
import type { DatabaseSync } from 'node:sqlite';
import { CompactingMap } from '../../lib/compacting-map.ts';
import { RATE_WINDOW_MS } from '../operations.ts';
import type { AccountTotals } from '../rules/account.ts';
import { readTotals } from './account.ts';
import { amount, amountOrNull, integer, type Row, text, textOrNull } from './columns.ts';
import type { RateJournal } from './rate-journal.ts';
import { type RateRun, RateWindow, readRun } from './rate-window.ts';
import { prepareStatements, type Statements } from './statements.ts';

export interface Hold {
  readonly keyId: string;
  readonly id: string;
  readonly owner: string;
  amount: bigint;
  /** Whether its last extension failed only because of what other holds reserve. */
  waiting: boolean;
  readonly heldAtMs: number;
  readonly expiresAtMs: number;
  readonly claimName: string | null;
  /** Of the newest mark. */
  markNumber: number;
  markCharge: bigint | null;
  markDetail: string | null;
  /** Whether the file has it. */
  persisted: boolean;
}

/** The totals count every hold; the file's totals only those that it has. */
export interface Account extends AccountTotals {
  /** Live ones by id, in the order of their admission. */
  readonly holds: CompactingMap<string, Hold>;
  persistedReserved: bigint;
  persistedHolds: number;
  readonly window: RateWindow;
  /** The greatest id of a hold that has ended. Ids begin with the time, so that a new hold's is almost always greater. */
  newestEnded: string;
  dirty: boolean;
}

/** Accounts in memory; beyond this many, all are dropped between two batches and read again as they are needed. */
const ACCOUNTS_MAX = 50_000;
const RATES_DELETE_MIN = 1_024;
/** A batch leaves rates to a later one this soon after the last time. */
const RATES_SAVE_MS = 250;

/** A hold that only memory has, as it was before the transaction that changes it. */
type Snapshot = Pick<Hold, 'amount' | 'waiting' | 'markNumber' | 'markCharge' | 'markDetail'> & { readonly hold: Hold };

/** What only memory has of an account that was dropped. */
interface Unpersisted {
  readonly holds: readonly Hold[];
  readonly window: RateWindow | undefined;
}

/** How much of the lists that a rollback works through belongs to what came before. */
interface Savepoint {
  readonly rateSlots: number;
  readonly saved: number;
  readonly journal: number;
}

export class AccountCache {
  readonly sql: Statements;
  readonly #journal: RateJournal;
  readonly #accounts = new Map<string, Account>();
  readonly #dirty: Account[] = [];
  #unpersistedByKey = new Map<string, Unpersisted>();
  #owners: Set<string> | null = null;
  /** The time of the batch that is being applied. */
  nowMs = 0;
  // What a rollback must restore; recorded from `begun` on.
  #inTransaction = false;
  #snapshots: Snapshot[] = [];
  #rateSlots: RateWindow[] = [];
  #saved: { readonly account: Account; readonly run: RateRun }[] = [];
  #journalAtBegin = 0;
  #savepoint: Savepoint = { rateSlots: 0, saved: 0, journal: 0 };
  readonly #withUnsavedRates = new Set<Account>();
  #ratesSavedAtMs = 0;

  constructor(database: DatabaseSync, journal: RateJournal) {
    this.sql = prepareStatements(database);
    this.#journal = journal;
  }

  get(keyId: string): Account | undefined {
    const known = this.#accounts.get(keyId);
    if (known !== undefined) return known;
    const row = this.sql.account.get(keyId);
    if (row === undefined) return undefined;
    const unpersisted = this.#unpersistedByKey.get(keyId);
    this.#unpersistedByKey.delete(keyId);
    const account = this.#accountFrom(row, keyId, unpersisted?.holds ?? [], unpersisted?.window);
    if (account.window.unsaved() !== null) this.#withUnsavedRates.add(account);
    this.#accounts.set(keyId, account);
    return account;
  }

  #accountFrom(row: Row, keyId: string, unpersisted: readonly Hold[], window?: RateWindow): Account {
    const totals = readTotals(row);
    const holds = [...this.sql.holdsOfKey.all(keyId).map(readHold), ...unpersisted];
    if (unpersisted.length > 0) holds.sort((a, b) => a.heldAtMs - b.heldAtMs);
    return {
      ...totals,
      reserved: unpersisted.reduce((sum, hold) => sum + hold.amount, totals.reserved),
      liveHolds: holds.length,
      persistedReserved: totals.reserved,
      persistedHolds: totals.liveHolds,
      holds: new CompactingMap(holds.map((hold) => [hold.id, hold])),
      window: window ?? new RateWindow(this.sql.ratesOfKey.all(keyId).map(readRun)),
      newestEnded: newestId(this.sql.newestEnded.get(keyId)),
      dirty: false,
    };
  }

  /** The account's totals are about to change. */
  markDirty(account: Account): void {
    if (account.dirty) return;
    account.dirty = true;
    this.#dirty.push(account);
  }

  /** Safe from the death of the process when this returns. */
  takeRateSlot(account: Account): void {
    const { key, window } = account;
    this.#journal.append({ keyId: key.id, number: window.nextNumber, atMs: this.nowMs });
    this.#withUnsavedRates.add(account);
    window.take(this.nowMs);
    if (this.#inTransaction) this.#rateSlots.push(window);
  }

  /** A hold that only memory has is about to change. */
  snapshot(hold: Hold): void {
    if (hold.persisted) return;
    const { amount, waiting, markNumber, markCharge, markDetail } = hold;
    this.#snapshots.push({ hold, amount, waiting, markNumber, markCharge, markDetail });
  }

  persist(account: Account, hold: Hold): void {
    this.markDirty(account);
    // Whether or not that succeeds: a rollback takes a new hold away, and makes another what it was.
    hold.persisted = true;
    this.sql.addHold.run(
      hold.keyId,
      hold.id,
      hold.owner,
      hold.amount,
      hold.heldAtMs,
      hold.expiresAtMs,
      hold.claimName,
      hold.markCharge,
      hold.markDetail,
      hold.waiting ? 1 : 0,
    );
    account.persistedReserved += hold.amount;
    account.persistedHolds++;
  }

  /** From then on the file alone has everything. */
  persistAll(): void {
    for (const keyId of [...this.#unpersistedByKey.keys()]) this.get(keyId);
    for (const account of this.#accounts.values()) {
      for (const hold of account.holds.values()) {
        if (hold.persisted) continue;
        this.snapshot(hold);
        this.persist(account, hold);
      }
    }
    this.flush(true);
  }

  /** Only living owners may hold balance. */
  get owners(): Set<string> {
    this.#owners ??= new Set(
      this.sql
        .cold('SELECT id FROM owners')
        .all()
        .map((row) => text(row, 'id')),
    );
    return this.#owners;
  }

  /** Whether memory has totals or rates that the database does not. */
  get unwritten(): boolean {
    return this.#dirty.length > 0 || this.#withUnsavedRates.size > 0;
  }

  /** Writes charges, usage and the totals that changed, and the rates where it is time, or all of them. */
  flush(allRates = false): void {
    this.sql.charges.write();
    this.sql.usage.write();
    this.sql.unrolled.write();
    for (const account of this.#dirty) {
      this.sql.saveAccount.run(
        account.purchased,
        account.used,
        account.persistedReserved,
        account.persistedHolds,
        account.periodStartMs,
        account.periodUsed,
        account.dayStartMs,
        account.daySpend,
        account.lastCost,
        account.inputTokens,
        account.outputTokens,
        account.requests,
        account.holdMs,
        account.key.id,
      );
      account.dirty = false;
    }
    this.#dirty.length = 0;
    if (allRates || this.nowMs >= this.#ratesSavedAtMs + RATES_SAVE_MS) this.#saveRates();
  }

  #saveRates(): void {
    for (const [keyId, { window }] of [...this.#unpersistedByKey]) if (window !== undefined) this.get(keyId);
    for (const account of this.#withUnsavedRates) {
      const { key, window } = account;
      const run = window.unsaved();
      if (run === null) this.#withUnsavedRates.delete(account);
      else {
        this.sql.addRates.run(key.id, run.number, JSON.stringify(run.times), run.times.at(-1) ?? 0);
        this.#saved.push({ account, run });
      }
      if (window.worthRemoving(RATES_DELETE_MIN)) this.sql.deleteRates.run(key.id, this.nowMs - RATE_WINDOW_MS);
    }
    this.#ratesSavedAtMs = this.nowMs;
  }

  begun(): void {
    this.#inTransaction = true;
    this.#journalAtBegin = this.#journal.position;
  }

  committed(): void {
    for (const { account, run } of this.#saved) {
      account.window.saved(run);
      if (account.window.unsaved() === null) this.#withUnsavedRates.delete(account);
    }
    this.#over();
    if (this.#journal.position > 0 && this.#ratesSaved()) this.#journal.truncate(0);
  }

  #ratesSaved(): boolean {
    if (this.#withUnsavedRates.size > 0) return false;
    return [...this.#unpersistedByKey.values()].every(({ window }) => window === undefined);
  }

  #over(): void {
    this.#inTransaction = false;
    if (this.#snapshots.length > 0) this.#snapshots = [];
    if (this.#rateSlots.length > 0) this.#rateSlots = [];
    if (this.#saved.length > 0) this.#saved = [];
  }

  /** The file is as it was before the transaction, and memory becomes so. */
  rolledBack(): void {
    for (const window of this.#rateSlots) window.undo();
    if (this.#inTransaction) this.#journal.truncate(this.#journalAtBegin);
    const unpersisted = new Set<Hold>();
    for (const { hold, ...before } of this.#snapshots.reverse()) {
      Object.assign(hold, before, { persisted: false });
      unpersisted.add(hold);
    }
    this.#over();
    this.#drop(unpersisted);
  }

  /** An operation begins that may fail by itself. The file has everything. */
  setSavepoint(): void {
    this.#savepoint = {
      rateSlots: this.#rateSlots.length,
      saved: this.#saved.length,
      journal: this.#journal.position,
    };
  }

  /** The file is as it was at the savepoint, and memory becomes so. */
  rolledBackToSavepoint(): void {
    const { rateSlots, saved, journal } = this.#savepoint;
    for (const window of this.#rateSlots.splice(rateSlots)) window.undo();
    this.#saved.splice(saved);
    this.#journal.truncate(journal);
    this.#drop(new Set());
  }

  /** Reads again from the file what it has. */
  #drop(unpersisted: Set<Hold>): void {
    this.sql.charges.drop();
    this.sql.usage.drop();
    this.sql.unrolled.drop();
    const unpersistedByKey = new Map(this.#unpersistedByKey);
    for (const account of this.#accounts.values()) {
      const holds = [...account.holds.values()].filter((hold) => !hold.persisted);
      for (const hold of holds) unpersisted.delete(hold);
      const window = account.window.unsaved() === null ? undefined : account.window;
      if (holds.length > 0 || window !== undefined) unpersistedByKey.set(account.key.id, { holds, window });
    }
    for (const hold of unpersisted) {
      const there = unpersistedByKey.get(hold.keyId);
      unpersistedByKey.set(hold.keyId, { holds: [...(there?.holds ?? []), hold], window: there?.window });
    }
    this.#unpersistedByKey = unpersistedByKey;
    this.#accounts.clear();
    this.#withUnsavedRates.clear();
    this.#dirty.length = 0;
    this.#owners = null;
  }

  /** Keeps memory bounded; called between batches. */
  trim(): void {
    if (this.#accounts.size > ACCOUNTS_MAX) this.#drop(new Set());
  }
}

function newestId(row: Row | undefined): string {
  return (row === undefined ? null : textOrNull(row, 'id')) ?? '';
}

/** Written by `mark`; holds of older releases have none. */
function markNumberIn(markDetail: string | null): number {
  return markDetail === null ? 0 : ((JSON.parse(markDetail) as { number?: number }).number ?? 0);
}

function readHold(row: Row): Hold {
  return {
    keyId: text(row, 'key_id'),
    id: text(row, 'id'),
    owner: text(row, 'owner'),
    amount: amount(row, 'amount'),
    waiting: integer(row, 'waiting') === 1,
    heldAtMs: integer(row, 'held_at_ms'),
    expiresAtMs: integer(row, 'expires_at_ms'),
    claimName: textOrNull(row, 'claim_name'),
    markNumber: markNumberIn(textOrNull(row, 'mark_detail')),
    markCharge: amountOrNull(row, 'mark_charge'),
    markDetail: textOrNull(row, 'mark_detail'),
    persisted: true,
  };
}
