/** A tree of accounts with their sums, as every backend reads it, and how they change with time. Pure. */
import type { AccountRecord } from '../../core/account.ts';
import { periodStartMs } from '../../core/period.ts';
import type { AccountSummary } from '../port.ts';

/** An account with its sums: of everything that was charged or is held on a path through it. */
export interface NodeTotals {
  account: AccountRecord;
  purchased: bigint;
  /** By credit keys, for ever. */
  used: bigint;
  reserved: bigint;
  reservedTokens: bigint;
  liveHolds: number;
  /** In the period of the credit cap; without one, for ever. */
  creditStartMs: number;
  creditUsed: bigint;
  /** In the period of the token cap, by keys of both modes. */
  tokensStartMs: number;
  tokensUsed: bigint;
  /** Running average of how long a hold lives; 0 before the first one ended. */
  holdMs: number;
  /** Of a root: when the first promotional credit of which something is left expires. */
  promoMs: number | null;
}

/** All accounts of one root, by their ids. */
export type TreeNodes<N extends NodeTotals = NodeTotals> = ReadonlyMap<string, N>;

/** Begins a new period where one has come; like a key, an account goes on in the newest that it has seen. */
export function rollOverNode(node: NodeTotals, nowMs: number): void {
  const { creditCap, tokenCap } = node.account;
  const creditMs = periodStartMs(creditCap?.period ?? 'none', nowMs);
  if (creditMs > node.creditStartMs) {
    node.creditStartMs = creditMs;
    node.creditUsed = 0n;
  }
  const tokensMs = periodStartMs(tokenCap?.period ?? 'none', nowMs);
  if (tokensMs > node.tokensStartMs) {
    node.tokensStartMs = tokensMs;
    node.tokensUsed = 0n;
  }
}

/** From this account to its root. */
export function pathFrom<N extends NodeTotals>(nodes: TreeNodes<N>, accountId: string): readonly N[] {
  const path: N[] = [];
  for (let id: string | null = accountId; id !== null; ) {
    const node = nodes.get(id);
    if (node === undefined) throw new Error(`account ${id} is not in its tree`);
    path.push(node);
    if (path.length > nodes.size) throw new Error(`account ${accountId} is below itself`);
    id = node.account.parentId;
  }
  return path;
}

/** How many levels the account and those below it make. */
export function heightOf(nodes: TreeNodes, accountId: string): number {
  let height = 0;
  for (const { account } of nodes.values()) {
    if (account.parentId === accountId) height = Math.max(height, heightOf(nodes, account.id));
  }
  return height + 1;
}

/** `place`: what others of its tree say about it. */
export function accountSummary(
  node: NodeTotals,
  nowMs: number,
  place: Pick<AccountSummary, 'rootName' | 'isParent'>,
): AccountSummary {
  rollOverNode(node, nowMs);
  return {
    account: node.account,
    purchased: node.purchased,
    used: node.used,
    creditUsed: node.creditUsed,
    tokensUsed: node.tokensUsed,
    reserved: node.reserved,
    reservedTokens: node.reservedTokens,
    liveHolds: node.liveHolds,
    rootName: place.rootName,
    isParent: place.isParent,
  };
}
