/** The books of PostgreSQL: one transaction under the locks of whoever pays, in the order of every batch. */
import type { AccountRecord } from '../../core/account.ts';
import type { KeyRecord } from '../../core/key.ts';
import { dayStartMs, periodStartMs } from '../../core/period.ts';
import { amount, integer, integerOrNull, type Row, text, textOrNull } from '../../storage/columns.ts';
import type { Query } from '../../storage/postgres/connection.ts';
import { shownAccount } from '../books/account-list.ts';
import type { AccountInHand, Books, KeyInHand } from '../books/books.ts';
import { inDialect, POSTGRES } from '../books/dialect.ts';
import { type ShownKey, shownKeys } from '../books/key-list.ts';
import { insertion, known, perform, query, queryOne, type Work } from '../books/work.ts';
import type { AccountSummary } from '../port.ts';
import { dueExpiries } from '../rules/promotions.ts';
import { KEY_COLUMNS, keyValues, nodeFrom, promotionsFrom, totalsFrom } from '../rules/row-mapping.ts';
import type { NodeTotals } from '../rules/tree.ts';
import { ADD_EXPIRED } from './save.ts';

const ADD_KEY = `${insertion('gateway.accounts', [
  ...['key_id', ...KEY_COLUMNS],
  ...['purchased', 'period_start_ms', 'day_start_ms', 'seen_ms', 'root_id'],
])} ON CONFLICT (key_id) DO NOTHING RETURNING key_id`;

/** What both stores do alike, in a transaction. */
export function performIn<T>(transaction: Query, work: Work<T>): Promise<T> {
  return perform(work, ({ text: sql, values }) => transaction(inDialect(sql, POSTGRES), values));
}

export class PostgresBooks implements Books {
  readonly dialect = POSTGRES;
  readonly nowMs: number;

  constructor(nowMs: number) {
    this.nowMs = nowMs;
  }

  *key(keyId: string): Work<KeyInHand | null> {
    yield* query('SELECT gateway.lock_payers(ARRAY[$1])', keyId);
    let row = yield* keyRow(keyId);
    if (row === undefined) return null;
    const nowMs = this.#timeOf(row);
    const rootId = textOrNull(row, 'root_id');
    if (rootId === null && isDue(row, nowMs)) {
      yield* expire(PAYING_KEY, keyId, nowMs);
      row = (yield* keyRow(keyId)) ?? row;
    }
    return { totals: totalsFrom(row), rootId, nowMs };
  }

  *account(accountId: string): Work<AccountInHand | null> {
    const place = yield* queryOne('SELECT root_id FROM gateway.tree_accounts WHERE id = $1', accountId);
    if (place === undefined) return null;
    const rootId = text(place, 'root_id');
    const locked = yield* queryOne(
      'SELECT seen_ms, promo_ms FROM gateway.tree_accounts WHERE id = $1 FOR UPDATE',
      rootId,
    );
    const nowMs = locked === undefined ? this.nowMs : this.#timeOf(locked);
    if (locked !== undefined && isDue(locked, nowMs)) {
      yield* expire(PAYING_ROOT, rootId, nowMs);
    }
    const rows = yield* query('SELECT * FROM gateway.tree_accounts WHERE root_id = $1', rootId);
    const nodes = new Map(rows.map((row) => [text(row, 'id'), nodeFrom(row)]));
    const [node, root] = [nodes.get(accountId), nodes.get(rootId)];
    if (node === undefined || root === undefined) throw new Error(`account ${accountId} is gone`);
    return { nodes, node, root, nowMs };
  }

  *lockRootsOf(accountIds: readonly string[]): Work<void> {
    yield* query(
      `SELECT 1 FROM gateway.tree_accounts WHERE id = ANY (ARRAY(SELECT root_id FROM gateway.tree_accounts
        WHERE ${this.dialect.isOneOf('id', '$1')})) ORDER BY id FOR UPDATE`,
      JSON.stringify(accountIds),
    );
  }

  *shownKey(keyId: string): Work<ShownKey | null> {
    const [shown] = yield* shownKeys(this, 'WHERE k.key_id = $2', this.nowMs, keyId);
    return shown ?? null;
  }

  shownAccount(accountId: string): Work<AccountSummary | null> {
    return shownAccount(this, accountId);
  }

  *timeOfPayer(id: string): Work<number | null> {
    const seen = yield* queryOne(
      `SELECT seen_ms FROM gateway.accounts WHERE key_id = $1
      UNION ALL SELECT seen_ms FROM gateway.tree_accounts WHERE id = $1`,
      id,
    );
    return seen === undefined ? null : this.#timeOf(seen);
  }

  *addKey(key: KeyRecord, rootId: string | null, credit: bigint): Work<boolean> {
    const { nowMs } = this;
    const starts = [periodStartMs(key.period, nowMs), dayStartMs(nowMs)] as const;
    const added = yield* query(ADD_KEY, key.id, ...keyValues(key), credit, ...starts, nowMs, rootId);
    return added.length === 1;
  }

  *keyPlaced({ totals: { key } }: KeyInHand, { root }: AccountInHand): Work<void> {
    yield* query('UPDATE gateway.accounts SET root_id = $2 WHERE key_id = $1', key.id, root.account.id);
  }

  keysChanged(): Work<void> {
    return known(undefined);
  }

  *accountAdded({ id, createdAtMs }: AccountRecord): Work<void> {
    yield* query('UPDATE gateway.tree_accounts SET seen_ms = $2 WHERE id = $1', id, createdAtMs);
  }

  accountMoved(): Work<void> {
    return known(undefined);
  }

  *saveTotals({ totals, nowMs }: KeyInHand): Work<void> {
    yield* query(
      `UPDATE gateway.accounts SET purchased = $2, period_start_ms = $3, period_used = $4,
        promo_ms = gateway.first_expiry_ms($1), seen_ms = greatest(seen_ms, $5) WHERE key_id = $1`,
      totals.key.id,
      totals.purchased,
      totals.periodStartMs,
      totals.periodUsed,
      nowMs,
    );
  }

  *saveSums(node: NodeTotals, nowMs: number): Work<void> {
    yield* query(
      `UPDATE gateway.tree_accounts SET purchased = $2, credit_start_ms = $3, credit_used = $4, tokens_start_ms = $5,
        tokens_used = $6, promo_ms = gateway.first_expiry_ms($1), seen_ms = greatest(seen_ms, $7) WHERE id = $1`,
      node.account.id,
      node.purchased,
      node.creditStartMs,
      node.creditUsed,
      node.tokensStartMs,
      node.tokensUsed,
      nowMs,
    );
  }

  /** What is due of a payer expires, whoever it is. */
  *expireOf(payerId: string): Work<null> {
    if ((yield* this.key(payerId)) === null) yield* this.account(payerId);
    return null;
  }

  /**
   * Before a statement is read, under the lock of whoever pays: what is due has expired, and everything that is booked from now
   * on is later than now, which is returned. So nothing is added to a time that is over.
   */
  *closeTime(id: string): Work<number> {
    const key = yield* this.key(id);
    if (key !== null) yield* this.saveTotals(key);
    const account = key === null ? yield* this.account(id) : null;
    if (account !== null) yield* this.saveSums(account.root, account.nowMs);
    return this.nowMs;
  }

  #timeOf(row: Row): number {
    return Math.max(this.nowMs, integer(row, 'seen_ms'));
  }
}

/** Those who pay: their table, the column of their ids, and the holds in credits that they pay for. */
const PAYING_KEY = ['gateway.accounts', 'key_id', 'FROM gateway.holds h WHERE h.key_id = $1'] as const;
const PAYING_ROOT = [
  'gateway.tree_accounts',
  'id',
  `FROM gateway.holds h JOIN gateway.accounts a ON a.key_id = h.key_id WHERE h.root_id = $1 AND a.mode = 'credit'`,
] as const;

/** Lets expire what is due of a payer, whose row is locked, and writes it there. */
function* expire(
  [table, id, holds]: typeof PAYING_KEY | typeof PAYING_ROOT,
  payerId: string,
  nowMs: number,
): Work<void> {
  const rows = yield* query('SELECT * FROM gateway.promotions WHERE node_id = $1 AND remaining > 0', payerId);
  const held = (yield* query(`SELECT h.held_at_ms, h.amount ${holds}`, payerId)).map((row) => ({
    atMs: integer(row, 'held_at_ms'),
    amount: amount(row, 'amount'),
  }));
  const heldBefore = (atMs: number): bigint =>
    held.reduce((sum, hold) => (hold.atMs < atMs ? sum + hold.amount : sum), 0n);
  let expired = 0n;
  for (const due of dueExpiries(promotionsFrom(rows) ?? [], nowMs, heldBefore)) {
    const { id: promotionId } = due.promotion;
    yield* query(TAKE_EXPIRED, payerId, promotionId, due.amount);
    yield* query(ADD_EXPIRED, payerId, promotionId, due.amount, nowMs);
    expired += due.amount;
  }
  yield* query(
    `UPDATE ${table} SET purchased = purchased - $2, promo_ms = gateway.first_expiry_ms($1), seen_ms = greatest(seen_ms, $3)
      WHERE ${id} = $1`,
    payerId,
    expired,
    nowMs,
  );
}

const TAKE_EXPIRED = 'UPDATE gateway.promotions SET remaining = remaining - $3 WHERE node_id = $1 AND id = $2';

function keyRow(keyId: string): Work<Row | undefined> {
  return queryOne('SELECT * FROM gateway.accounts WHERE key_id = $1', keyId);
}

/** Whether promotional credit of a locked payer has to expire. */
function isDue(row: Row, nowMs: number): boolean {
  const promoMs = integerOrNull(row, 'promo_ms');
  return promoMs !== null && promoMs <= nowMs;
}
