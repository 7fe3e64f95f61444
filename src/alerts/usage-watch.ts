/**
 * Notices that a balance, cap or budget has reached a level, and that a key will expire. It reads what settlements and changes
 * have left behind, every few seconds, and is never part of one. Of many keys it looks only at those that were charged or
 * changed since the last time, and at those that expire.
 */
import { HOUR_MS } from '../core/time.ts';
import type { AccountSummary, KeySummary, LedgerAdmin } from '../ledger/port.ts';
import { type Alert, alertId } from './alert.ts';
import { type ChangeTrail, ChangeWatch } from './change-watch.ts';
import { daysToExpiry, ExpiryWatch } from './expiry-watch.ts';
import { type Levels, levelReached } from './levels.ts';
import {
  type Balance,
  type BalanceBase,
  type BalanceCount,
  balanceOfAccount,
  balanceOfKey,
  balanceShare,
  type Share,
  shareData,
  sharesOfAccount,
  sharesOfKey,
} from './shares.ts';
import type { SqlAlertStore } from './sql-store.ts';

export type WatchedLedger = Pick<LedgerAdmin, 'usageReport' | 'getKey' | 'getAccount' | 'expiringKeys' | 'credited'>;

const KEYS_MAX = 100_000;
/** Charges of the end of an hour may be seen after it. */
const LATE_MS = 300_000;

interface Found {
  /** Null where it is about the accounts alone. */
  readonly key: KeySummary | null;
  /** From the nearest to the root. */
  readonly path: readonly AccountSummary[];
}

export class UsageWatch {
  readonly #ledger: WatchedLedger;
  readonly #store: Pick<SqlAlertStore, 'base' | 'putBase'>;
  /** Of each key, how many charges the last look has seen: only what moves is looked at. */
  #seen: ReadonlyMap<string, bigint> = new Map();
  /** Where the time begins that those are of: of another time, the same number says nothing. */
  #seenSinceMs = 0;
  /** By whose they are, with the `purchased` that they were found by: who gave what is asked only where that has changed. */
  #counts = new Map<string, BalanceCount & Pick<Balance, 'purchased'>>();
  readonly #changes: ChangeWatch;
  readonly #expiries: ExpiryWatch;
  readonly #levels: () => Levels | null;

  constructor(
    ledger: WatchedLedger,
    store: Pick<SqlAlertStore, 'base' | 'putBase'>,
    trail: ChangeTrail,
    levels: () => Levels | null,
  ) {
    this.#ledger = ledger;
    this.#levels = levels;
    this.#store = store;
    this.#changes = new ChangeWatch(trail);
    this.#expiries = new ExpiryWatch(ledger);
  }

  /** Another one has watched meanwhile. */
  forget(): void {
    this.#seen = new Map();
    this.#counts = new Map();
    this.#changes.forget();
    this.#expiries.forget();
  }

  /** What is to be told; the same again where nobody has taken it yet. */
  async look(nowMs: number): Promise<readonly Alert[]> {
    const moved = await this.#moved(nowMs);
    const ids = new Set([...moved.keys(), ...(await this.#changes.next()), ...(await this.#expiries.next(nowMs))]);
    const accounts = new Map<string, AccountSummary | null>();
    const alerts = new Map<string, Alert>();
    for (const id of ids) {
      const found = await this.#find(id, accounts);
      for (const alert of await this.#alertsOf(found, nowMs)) alerts.set(alert.id, alert);
    }
    return [...alerts.values()];
  }

  async #moved(nowMs: number): Promise<ReadonlyMap<string, bigint>> {
    const sinceMs = Math.floor((nowMs - LATE_MS) / HOUR_MS) * HOUR_MS;
    const untilMs = (Math.floor(nowMs / HOUR_MS) + 1) * HOUR_MS;
    const report = await this.#ledger.usageReport({ sinceMs, untilMs, by: ['key'], filter: {}, rowsMax: KEYS_MAX });
    if (report.kind !== 'usage')
      throw new Error(`more than ${KEYS_MAX} keys were used in an hour: they are not watched`);
    const charges = new Map(report.rows.map(({ group: [key], sums }) => [String(key), sums.charges]));
    const sameTime = sinceMs === this.#seenSinceMs;
    const moved = new Map([...charges].filter(([key, count]) => !sameTime || this.#seen.get(key) !== count));
    this.#seen = charges;
    this.#seenSinceMs = sinceMs;
    return moved;
  }

  /** A key, or else an account; of what is neither, nothing. */
  async #find(keyOrAccount: string, accounts: Map<string, AccountSummary | null>): Promise<Found> {
    const key = await this.#ledger.getKey(keyOrAccount);
    const path: AccountSummary[] = [];
    for (let id = key === null ? keyOrAccount : key.key.accountId; id !== null; ) {
      const known = accounts.get(id);
      const account = known === undefined ? await this.#ledger.getAccount(id) : known;
      accounts.set(id, account);
      if (account === null) break;
      path.push(account);
      id = account.account.parentId;
    }
    return { key, path };
  }

  async #alertsOf({ key, path }: Found, nowMs: number): Promise<readonly Alert[]> {
    const ids = path.map(({ account }) => account.id);
    const alerts: Alert[] = [];
    const levels = this.#levels();
    const add = async (shares: readonly Share[], balance: Balance | null, accountIds: readonly string[]) => {
      const all = balance === null ? shares : [...shares, await this.#balanceShare(balance)];
      for (const share of all) alerts.push(...levelOf(share, levels, accountIds, nowMs));
    };
    if (key !== null) {
      alerts.push(...expiryOf(key, ids, nowMs));
      await add(sharesOfKey(key, nowMs), balanceOfKey(key), ids);
    }
    for (const [index, account] of path.entries()) {
      await add(sharesOfAccount(account, nowMs), balanceOfAccount(account), ids.slice(index));
    }
    return alerts;
  }

  /** Credit that is bought begins a new count, and nothing else does; the first one is of all that was ever bought. */
  async #balanceShare(balance: Balance): Promise<Share> {
    const { scope, id, purchased, used } = balance;
    const subject = `bought ${scope} ${id}`;
    const last = this.#counts.get(subject);
    if (last?.purchased === purchased) return balanceShare(balance, last);
    const { bought, otherwise } = await this.#ledger.credited(id);
    const stored = last?.base ?? (await this.#store.base(subject));
    const known = stored ?? (await this.#baseBefore(balance, bought));
    const base = known?.bought === bought ? known : { bought, used: known === null ? 0n : used };
    if (base !== stored) await this.#store.putBase(subject, base);
    this.#counts.set(subject, { purchased, base, otherwise });
    return balanceShare(balance, { base, otherwise });
  }

  /** Releases that counted anew with every change of `purchased` kept all of that, under another name. */
  async #baseBefore({ scope, id, purchased }: Balance, bought: bigint): Promise<BalanceBase | null> {
    const before = await this.#store.base(`${scope} ${id}`);
    return before?.bought === purchased ? { ...before, bought } : before;
  }
}

function levelOf(share: Share, levels: Levels | null, accountIds: readonly string[], nowMs: number): readonly Alert[] {
  const reached = levels && levelReached(share, levels);
  if (reached === null) return [];
  const { scope, id, limit, epoch } = share;
  const event = 'level' in reached ? [reached.level] : ['left', reached.left];
  return [
    {
      id: alertId('usage.level', scope, id, limit, epoch, ...event),
      type: 'usage.level',
      atMs: nowMs,
      accountIds,
      data: { ...reached, ...shareData(share) },
    },
  ];
}

function expiryOf({ key }: KeySummary, accountIds: readonly string[], nowMs: number): readonly Alert[] {
  const { expiresAtMs } = key;
  const days = expiresAtMs === null ? null : daysToExpiry(expiresAtMs, nowMs);
  if (expiresAtMs === null || days === null || key.status === 'revoked') return [];
  return [
    {
      id: alertId('key.expiring', key.id, expiresAtMs, days),
      type: 'key.expiring',
      atMs: nowMs,
      accountIds,
      data: { key: key.id, name: key.label, expires_at: new Date(expiresAtMs).toISOString(), within_days: days },
    },
  ];
}
