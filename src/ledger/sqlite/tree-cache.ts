/** Keys and trees of accounts in memory. A tree is loaded with its root and dropped with it. */
import { CompactingMap } from '../../lib/compacting-map.ts';
import { text } from '../../storage/columns.ts';
import type { AccountNode, Hold, KeyState, Tree } from '../engine/key-state.ts';
import { nodeFrom } from '../rules/row-mapping.ts';
import type { NodeTotals } from '../rules/tree.ts';
import type { JournalRow } from './charge-journal.ts';
import { DirtyRows } from './dirty-rows.ts';
import type { RateWindow } from './rate-window.ts';
import { readPromotions } from './rows.ts';
import type { Statements } from './statements.ts';

/** The sums count every hold; the file's only those that it has. */
export interface CachedNode extends AccountNode {
  persistedReserved: bigint;
  persistedReservedTokens: bigint;
  persistedHolds: number;
  readonly window: RateWindow;
  dirty: boolean;
}

export interface CachedTree extends Tree<CachedNode> {
  /** The keys that hold something, by their ids. */
  readonly holding: CompactingMap<string, CachedKey>;
}

/** As `CachedNode`. */
export interface CachedKey extends KeyState<CachedNode> {
  /** All live ones by id, in the order of their admission. */
  readonly holds: CompactingMap<string, Hold>;
  persistedReserved: bigint;
  persistedHolds: number;
  readonly window: RateWindow;
  /** The greatest id of a hold that has ended. Ids begin with the time, so that a new hold's is almost always greater. */
  newestEnded: string;
  dirty: boolean;
}

export class TreeCache {
  readonly #sql: Statements;
  readonly #windowOf: (id: string) => RateWindow;
  readonly #trees = new Map<string, CachedTree>();
  readonly #dirty = new DirtyRows<CachedNode>();

  constructor(sql: Statements, windowOf: (id: string) => RateWindow) {
    this.#sql = sql;
    this.#windowOf = windowOf;
  }

  /** The account's tree, if there is such an account. `onLoad` brings the keys that hold something below a tree just loaded. */
  treeOf(accountId: string, onLoad: (tree: CachedTree) => void): CachedTree | undefined {
    const row = this.#sql.rootOfAccount.get(accountId);
    if (row === undefined) return undefined;
    const rootId = text(row, 'root_id');
    const known = this.#trees.get(rootId);
    if (known !== undefined) return known;
    const tree: CachedTree = { rootId, nodes: new Map(), holding: new CompactingMap() };
    for (const each of this.#sql.cold('SELECT * FROM tree_accounts WHERE root_id = ?').all(rootId)) {
      this.put(tree, nodeFrom(each));
    }
    this.#trees.set(rootId, tree);
    onLoad(tree);
    return tree;
  }

  /** A new account, as the file has it. */
  put(tree: CachedTree, totals: NodeTotals): void {
    tree.nodes.set(totals.account.id, {
      ...totals,
      persistedReserved: totals.reserved,
      persistedReservedTokens: totals.reservedTokens,
      persistedHolds: totals.liveHolds,
      window: this.#windowOf(totals.account.id),
      promotions: totals.promoMs === null ? null : readPromotions(this.#sql.cold, totals.account.id),
      dirty: false,
    });
  }

  markDirty(node: CachedNode): void {
    this.#dirty.add(node);
  }

  get unwritten(): boolean {
    return !this.#dirty.empty;
  }

  /** What `saveNode` takes of the accounts that have changed since the last time. */
  forJournal(): readonly JournalRow[] {
    return this.#dirty.forJournal().map(nodeRow);
  }

  flush(): void {
    for (const node of this.#dirty.forDatabase()) this.#sql.saveNode.run(...nodeRow(node));
  }

  drop(): void {
    this.#trees.clear();
    this.#dirty.drop();
  }
}

/** What `saveNode` takes. */
function nodeRow(node: CachedNode) {
  return [
    node.purchased,
    node.used,
    node.persistedReserved,
    node.persistedReservedTokens,
    node.persistedHolds,
    node.creditStartMs,
    node.creditUsed,
    node.tokensStartMs,
    node.tokensUsed,
    node.holdMs,
    node.account.id,
  ];
}
