/**
 * Trees of accounts in memory: each is loaded with its root and dropped with it. The sums count every hold below; the file's
 * sums only those that it has.
 */
import { CompactingMap } from '../../lib/compacting-map.ts';
import { text } from '../../storage/columns.ts';
import { nodeFrom } from '../rules/row-mapping.ts';
import { type NodeTotals, pathFrom } from '../rules/tree.ts';
import { type AccountNode, type Hold, type KeyState, type Path, readPromotions, type Tree } from './key-state.ts';
import type { RateWindow } from './rate-window.ts';
import type { Statements } from './statements.ts';

export type { AccountNode, Path, Tree } from './key-state.ts';

export class TreeCache {
  readonly #sql: Statements;
  readonly #windowOf: (id: string) => RateWindow;
  readonly #trees = new Map<string, Tree>();
  readonly #dirty: AccountNode[] = [];

  constructor(sql: Statements, windowOf: (id: string) => RateWindow) {
    this.#sql = sql;
    this.#windowOf = windowOf;
  }

  /** The account's tree, if there is such an account. `onLoad` brings the keys that hold something below a tree just loaded. */
  treeOf(accountId: string, onLoad: (tree: Tree) => void): Tree | undefined {
    const row = this.#sql.rootOfAccount.get(accountId);
    if (row === undefined) return undefined;
    const rootId = text(row, 'root_id');
    const known = this.#trees.get(rootId);
    if (known !== undefined) return known;
    const tree: Tree = { rootId, nodes: new Map(), holding: new CompactingMap() };
    for (const each of this.#sql.cold('SELECT * FROM tree_accounts WHERE root_id = ?').all(rootId)) {
      this.put(tree, nodeFrom(each));
    }
    this.#trees.set(rootId, tree);
    onLoad(tree);
    return tree;
  }

  /** A new account, as the file has it. */
  put(tree: Tree, totals: NodeTotals): void {
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

  markDirty(node: AccountNode): void {
    if (node.dirty) return;
    node.dirty = true;
    this.#dirty.push(node);
  }

  get unwritten(): boolean {
    return this.#dirty.length > 0;
  }

  flush(): void {
    for (const node of this.#dirty) {
      this.#sql.saveNode.run(
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
      );
      node.dirty = false;
    }
    this.#dirty.length = 0;
  }

  drop(): void {
    this.#trees.clear();
    this.#dirty.length = 0;
  }
}

export function rootOf(tree: Tree): AccountNode {
  const root = tree.nodes.get(tree.rootId);
  if (root === undefined) throw new Error(`the tree of ${tree.rootId} has no root`);
  return root;
}

export function pathOf(tree: Tree, accountId: string): Path {
  const nodes = pathFrom(tree.nodes, accountId);
  return { tree, nodes, root: rootOf(tree), text: JSON.stringify(nodes.map(({ account }) => account.id)) };
}

const NO_NODES: readonly AccountNode[] = [];

/** The accounts that a new hold of the key is admitted on; none for a key without an account. */
export function nodesAbove({ path }: KeyState): readonly AccountNode[] {
  return path === null ? NO_NODES : path.nodes;
}

/** The accounts that a hold was admitted on. */
export function nodesOf(state: KeyState, hold: Hold): readonly AccountNode[] {
  const { path } = state;
  if (path === null || hold.path === null) return NO_NODES;
  if (path.text === hold.path) return path.nodes;
  return (JSON.parse(hold.path) as string[]).map((id) => {
    const node = path.tree.nodes.get(id);
    if (node === undefined) throw new Error(`account ${id} of hold ${hold.id} is not in its tree`);
    return node;
  });
}
