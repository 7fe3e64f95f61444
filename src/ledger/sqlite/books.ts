/** The books of the embedded store: keys and accounts are in hand in its cache, and its batch is the transaction. */
import type { AccountRecord } from '../../core/account.ts';
import type { KeyRecord } from '../../core/key.ts';
import { dayStartMs, periodStartMs } from '../../core/period.ts';
import type { AccountInHand, Books, KeyInHand } from '../books/books.ts';
import { SQLITE } from '../books/dialect.ts';
import type { ShownKey } from '../books/key-list.ts';
import { insertion, known, query, queryOne, type Work } from '../books/work.ts';
import { pathOf, rootOf } from '../engine/key-state.ts';
import { expireOf, expirePromotions } from '../engine/promotions.ts';
import type { AccountSummary } from '../port.ts';
import { KEY_COLUMNS, keyFrom, keyValues, nodeFrom } from '../rules/row-mapping.ts';
import { accountSummary, type NodeTotals } from '../rules/tree.ts';
import type { KeyCache } from './key-cache.ts';

const ADD_KEY = insertion('keys', ['id', ...KEY_COLUMNS]);
const ADD_TOTALS = insertion('accounts', ['key_id', 'mode', 'purchased', 'period_start_ms', 'day_start_ms']);

export class SqliteBooks implements Books {
  readonly dialect = SQLITE;
  readonly #keys: KeyCache;

  constructor(keys: KeyCache) {
    this.#keys = keys;
  }

  get nowMs(): number {
    return this.#keys.nowMs;
  }

  *key(keyId: string): Work<KeyInHand | null> {
    const shown = yield* this.shownKey(keyId);
    const rootId = this.#keys.get(keyId)?.path?.tree.rootId ?? null;
    return shown === null ? null : { ...shown, rootId };
  }

  shownKey(keyId: string): Work<ShownKey | null> {
    const account = this.#keys.get(keyId);
    if (account !== undefined) expirePromotions(this.#keys, account);
    return known(account === undefined ? null : { totals: account, nowMs: this.nowMs });
  }

  account(accountId: string): Work<AccountInHand | null> {
    const tree = this.#keys.tree(accountId);
    const node = tree?.nodes.get(accountId);
    if (tree === undefined || node === undefined) return known(null);
    expireOf(this.#keys, tree);
    return known({ nodes: tree.nodes, node, root: rootOf(tree), nowMs: this.nowMs });
  }

  *shownAccount(accountId: string): Work<AccountSummary | null> {
    const inHand = yield* this.account(accountId);
    if (inHand === null) return null;
    const child = yield* queryOne('SELECT 1 FROM tree_accounts WHERE parent_id = $1 LIMIT 1', accountId);
    const place = { rootName: inHand.root.account.name, isParent: child !== undefined };
    return accountSummary(inHand.node, this.nowMs, place);
  }

  *timeOfPayer(id: string): Work<number | null> {
    const found = (yield* this.shownKey(id)) ?? (yield* this.account(id));
    return found === null ? null : this.nowMs;
  }

  lockRootsOf(): Work<void> {
    return known(undefined);
  }

  *addKey(key: KeyRecord, _: string | null, credit: bigint): Work<boolean> {
    const { id, mode, period } = key;
    yield* query(ADD_KEY, id, ...keyValues(key));
    yield* query(ADD_TOTALS, id, mode, credit, periodStartMs(period, this.nowMs), dayStartMs(this.nowMs));
    return true;
  }

  keyPlaced({ totals: { key } }: KeyInHand, { node }: AccountInHand): Work<void> {
    const account = this.#keys.get(key.id);
    const tree = this.#keys.tree(node.account.id);
    if (account !== undefined && tree !== undefined) account.path = pathOf(tree, node.account.id);
    return known(undefined);
  }

  keysChanged(keyIds: readonly string[]): Work<void> {
    for (const keyId of keyIds) {
      const account = this.#keys.get(keyId);
      const row = this.#keys.sql.totals.get(keyId);
      if (account !== undefined && row !== undefined) account.key = keyFrom(row);
    }
    return known(undefined);
  }

  *accountAdded({ id, parentId }: AccountRecord): Work<void> {
    const tree = parentId === null ? undefined : this.#keys.tree(parentId);
    const row = yield* queryOne('SELECT * FROM tree_accounts WHERE id = $1', id);
    if (tree !== undefined && row !== undefined) this.#keys.trees.put(tree, nodeFrom(row));
  }

  accountMoved({ node }: AccountInHand): Work<void> {
    const tree = this.#keys.tree(node.account.id);
    if (tree !== undefined) this.#keys.recomputePaths(tree);
    return known(undefined);
  }

  saveTotals({ totals: { key } }: KeyInHand): Work<void> {
    const account = this.#keys.get(key.id);
    if (account !== undefined) {
      this.#keys.markDirty(account);
      this.#keys.readPromotions(account);
    }
    return known(undefined);
  }

  saveSums({ account: { id } }: NodeTotals): Work<void> {
    const node = this.#keys.tree(id)?.nodes.get(id);
    if (node !== undefined) {
      this.#keys.trees.markDirty(node);
      this.#keys.readPromotions(node);
    }
    return known(undefined);
  }
}
