/**
 * What operations work on: the statements, and the accounts of the keys in use with their live holds and rate windows.
 * Holds, entries, claims and rates are written at once; an account's sums are written once per batch, before its commit.
 * After a rollback everything in memory is dropped and read anew.
 */
import type { DatabaseSync } from 'node:sqlite';
import { TurnoverMap } from '../../core/turnover-map.ts';
import type { Sums } from '../account.ts';
import { readSums } from './account.ts';
import { amount, amountOrNull, integer, type Row, text, textOrNull } from './columns.ts';
import { RateWindow } from './rate-window.ts';
import { prepareStatements, type Statements } from './statements.ts';

export interface Hold {
  readonly keyId: string;
  readonly id: string;
  readonly owner: string;
  amount: bigint;
  readonly heldAtMs: number;
  readonly expiresAtMs: number;
  readonly claimName: string | null;
  markCharge: bigint | null;
  markDetail: string | null;
}

export interface Account extends Sums {
  /** Oldest first. */
  readonly holds: TurnoverMap<string, Hold>;
  readonly window: RateWindow;
  /** The greatest id of a hold that has ended. Ids begin with the time, so that a new hold's is almost always greater. */
  newestEnded: string;
  changed: boolean;
}

/** Accounts in memory; beyond this many, all are dropped between two batches and read again as they are needed. */
const ACCOUNTS_MAX = 50_000;
const RATES_DELETE_MIN = 64;

export class Books {
  readonly sql: Statements;
  readonly #accounts = new Map<string, Account>();
  readonly #changed: Account[] = [];
  #owners: Set<string> | null = null;
  /** The time of the batch that is being applied. */
  nowMs = 0;

  constructor(database: DatabaseSync) {
    this.sql = prepareStatements(database);
  }

  account(keyId: string): Account | undefined {
    const known = this.#accounts.get(keyId);
    if (known !== undefined) return known;
    const row = this.sql.account.get(keyId);
    if (row === undefined) return undefined;
    const account: Account = {
      ...readSums(row),
      holds: new TurnoverMap(this.sql.holdsOfKey.all(keyId).map((hold) => [text(hold, 'id'), readHold(hold)])),
      window: new RateWindow(
        this.sql.ratesOfKey
          .all(keyId)
          .map((rate) => ({ number: integer(rate, 'number'), atMs: integer(rate, 'at_ms') })),
      ),
      newestEnded: newestId(this.sql.newestEnded.get(keyId)),
      changed: false,
    };
    this.#accounts.set(keyId, account);
    return account;
  }

  /** The account's sums are about to change. */
  touch(account: Account): void {
    if (account.changed) return;
    account.changed = true;
    this.#changed.push(account);
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

  /** Writes the sums that changed. */
  flush(): void {
    for (const account of this.#changed) {
      this.sql.saveAccount.run(
        account.purchased,
        account.used,
        account.reserved,
        account.liveHolds,
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
      const number = account.window.takeDeletable(RATES_DELETE_MIN);
      if (number !== null) this.sql.deleteRates.run(account.key.id, number);
      account.changed = false;
    }
    this.#changed.length = 0;
  }

  /** Nothing in memory holds any more. */
  drop(): void {
    this.#accounts.clear();
    this.#changed.length = 0;
    this.#owners = null;
  }

  /** Keeps memory bounded; called between batches. */
  trim(): void {
    if (this.#accounts.size > ACCOUNTS_MAX) this.#accounts.clear();
  }
}

function newestId(row: Row | undefined): string {
  return (row === undefined ? null : textOrNull(row, 'id')) ?? '';
}

function readHold(row: Row): Hold {
  return {
    keyId: text(row, 'key_id'),
    id: text(row, 'id'),
    owner: text(row, 'owner'),
    amount: amount(row, 'amount'),
    heldAtMs: integer(row, 'held_at_ms'),
    expiresAtMs: integer(row, 'expires_at_ms'),
    claimName: textOrNull(row, 'claim_name'),
    markCharge: amountOrNull(row, 'mark_charge'),
    markDetail: textOrNull(row, 'mark_detail'),
  };
}
