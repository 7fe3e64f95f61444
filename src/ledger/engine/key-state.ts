/** Keys with their holds, and the accounts above them: loaded by a store, changed by operations, saved before the commit. */
import type { Mode } from '../../core/key.ts';
import { AMOUNT_MAX } from '../../core/money.ts';
import type { Mark, MarkedCall, RateState } from '../port.ts';
import { type KeyTotals, keyTimeMs, rollOver } from '../rules/key-totals.ts';
import type { Promotion } from '../rules/promotions.ts';
import { type NodeTotals, pathFrom, rollOverNode } from '../rules/tree.ts';

export interface Hold {
  readonly keyId: string;
  readonly mode: Mode;
  readonly id: string;
  readonly owner: string;
  amount: bigint;
  /** For a key of an account, and 0 otherwise: as its accounts count it. */
  tokens: bigint;
  /** The accounts that it is reserved at, as `Path.text` has them; null for a key without an account. */
  readonly path: string | null;
  /** Whether its last extension failed only because of what other holds reserve. */
  waiting: boolean;
  readonly heldAtMs: number;
  /** The same by the time that never jumps; where it was read from the store, as good as that is known. */
  readonly steadyAtMs: number;
  readonly expiresAtMs: number;
  readonly claimName: string | null;
  /** Whether it is that of a run, which has its end together with it. */
  readonly run: boolean;
  /** The newest; null before the first. */
  mark: HoldMark | null;
  /** Whether the store has it. */
  persisted: boolean;
}

/** How far the call of a hold had come. */
export interface HoldMark extends Pick<Mark, 'charge' | 'tokens'> {
  readonly number: number;
  readonly call: MarkedCall | null;
  /** Since the hold was admitted. */
  readonly durationMs: number;
}

/** The requests of a key or an account that its limit on requests per minute still counts. */
export interface RequestWindow {
  /** Forgets what has left the window. */
  advance(nowMs: number): void;
  /** How long until one more request fits under the limit; 0 when it fits now. */
  waitMs(limit: number, nowMs: number): number;
  state(limit: number, nowMs: number): RateState;
}

/** Live holds by their ids. */
interface Holds {
  get(id: string): Hold | undefined;
  set(id: string, hold: Hold): void;
  delete(id: string): void;
}

/** The totals count every hold. */
export interface KeyState<N extends AccountNode = AccountNode> extends KeyTotals {
  /** Those that operations may be about; `WorkingSet.holdsOf` has all of them. */
  readonly holds: Holds;
  readonly window: RequestWindow;
  /** Null for a key without an account. */
  path: Path<N> | null;
  /** Those of which something is left, in the order of their expiry; null where there is none. */
  promotions: readonly Promotion[] | null;
}

export interface AccountNode extends NodeTotals {
  readonly window: RequestWindow;
  /** Of a root: those of which something is left, in the order of their expiry; null where there is none. */
  promotions: readonly Promotion[] | null;
}

export interface Tree<N extends AccountNode = AccountNode> {
  readonly rootId: string;
  readonly nodes: Map<string, N>;
}

/** The accounts above a key, from the nearest to the root. */
export interface Path<N extends AccountNode = AccountNode> {
  readonly tree: Tree<N>;
  readonly nodes: readonly N[];
  readonly root: N;
  /** As holds and entries carry it. */
  readonly text: string;
}

/** Who pays for a key: its root, or the key itself. */
export type Payer = KeyState | AccountNode;

export function payerOf(state: KeyState): Payer {
  return state.path === null ? state : state.path.root;
}

export function idOf(payer: Payer): string {
  return 'account' in payer ? payer.account.id : payer.key.id;
}

export function rootOf<N extends AccountNode>(tree: Tree<N>): N {
  const root = tree.nodes.get(tree.rootId);
  if (root === undefined) throw new Error(`the tree of ${tree.rootId} has no root`);
  return root;
}

export function pathOf<N extends AccountNode>(tree: Tree<N>, accountId: string): Path<N> {
  const nodes = pathFrom(tree.nodes, accountId);
  return { tree, nodes, root: rootOf(tree), text: JSON.stringify(nodes.map(({ account }) => account.id)) };
}

const NO_NODES: readonly never[] = [];

/** The accounts that a new hold of the key is admitted on; none for a key without an account. */
export function nodesAbove<N extends AccountNode>({ path }: KeyState<N>): readonly N[] {
  return path === null ? NO_NODES : path.nodes;
}

/** The accounts that a hold was admitted on. */
export function nodesOf<N extends AccountNode>(state: KeyState<N>, hold: Hold): readonly N[] {
  const { path } = state;
  if (path === null || hold.path === null) return NO_NODES;
  if (path.text === hold.path) return path.nodes;
  return (JSON.parse(hold.path) as string[]).map((id) => {
    const node = path.tree.nodes.get(id);
    if (node === undefined) throw new Error(`account ${id} of hold ${hold.id} is not in its tree`);
    return node;
  });
}

/** What is reserved for a hold changes on its path: by all of it, or by the difference to before. */
export function reserve(
  state: KeyState,
  nodes: readonly AccountNode[],
  amount: bigint,
  tokens: bigint,
  holds: 0 | 1 | -1,
): void {
  state.reserved += amount;
  state.liveHolds += holds;
  for (const node of nodes) {
    if (state.key.mode === 'credit') node.reserved += amount;
    node.reservedTokens += tokens;
    node.liveHolds += holds;
  }
}

/** Books a charge on the path of its hold, which the caller has released; returns when it counts. */
export function bookCharge(
  state: KeyState,
  nodes: readonly AccountNode[],
  charged: bigint,
  tokens: bigint,
  nowMs: number,
): number {
  const credit = state.key.mode === 'credit';
  let atMs = keyTimeMs(state, nowMs);
  for (const node of nodes) {
    atMs = Math.max(atMs, node.creditStartMs, node.tokensStartMs);
    if (credit) {
      node.used += charged;
      node.creditUsed += charged;
    }
    node.tokensUsed += tokens;
  }
  // What counts against a budget, or against the cap that a key of an account may have.
  if (!credit || state.key.accountId !== null) state.periodUsed += charged;
  if (credit) {
    state.used += charged;
    state.daySpend += charged;
    state.lastCost = charged;
  }
  return atMs;
}

/** For totals that only inform: they stop at what a column can hold instead of failing a settlement. */
export function saturate(value: bigint): bigint {
  return value > AMOUNT_MAX ? AMOUNT_MAX : value;
}

/** The key, and every account above it. */
export function rollOverAll(state: KeyState, nowMs: number): void {
  rollOver(state, nowMs);
  if (state.path !== null) for (const node of state.path.nodes) rollOverNode(node, nowMs);
}
