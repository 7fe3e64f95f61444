/**
 * What operations work on: the statements, and the keys in use with their totals, live holds and rate windows.
 * Claims are written at once; charges, usage and the totals of a key once per batch, before its commit; rates from time to
 * time, and until then they are in the journal. After a rollback everything in memory is dropped and read again, except for
 * the holds that only memory has.
 *
 * A hold may live in memory alone as long as it has neither a claim nor a mark: if the process dies, nothing is left of it,
 * which is what recovery would make of it anyway. It is persisted with its first mark, and before anything reads all holds.
 */
import type { DatabaseSync } from 'node:sqlite';
import { CompactingMap } from '../../lib/compacting-map.ts';
import { type Row, text, textOrNull } from '../../storage/columns.ts';
import type { KeyTotals } from '../rules/key-totals.ts';
import { totalsFrom } from '../rules/row-mapping.ts';
import { type Hold, type KeyState, readHold, readPromotions, reserve } from './key-state.ts';
import type { RateJournal } from './rate-journal.ts';
import { RateWindows } from './rate-windows.ts';
import { prepareStatements, type Statements } from './statements.ts';
import { type AccountNode, nodesOf, type Path, pathOf, type Tree, TreeCache } from './tree-cache.ts';

export type { Hold, KeyState } from './key-state.ts';

/** Keys in memory; beyond this many, all are dropped between two batches and read again as they are needed. */
const STATES_MAX = 50_000;

/** A hold that only memory has, as it was before the transaction that changes it. */
type Snapshot = Pick<Hold, 'amount' | 'tokens' | 'waiting' | 'markNumber' | 'markCharge' | 'markDetail'> & {
  readonly hold: Hold;
};

export class KeyCache {
  readonly sql: Statements;
  readonly #states = new Map<string, KeyState>();
  readonly #dirty: KeyState[] = [];
  readonly trees: TreeCache;
  readonly rates: RateWindows;
  /** Holds that only memory has, of keys that were dropped. */
  #unpersistedByKey = new Map<string, readonly Hold[]>();
  #owners: Set<string> | null = null;
  /** The time of the batch that is being applied: that of the calendar, and the one that never jumps. */
  nowMs = 0;
  steadyMs = 0;
  /** What a rollback must restore. */
  #snapshots: Snapshot[] = [];

  constructor(database: DatabaseSync, journal: RateJournal) {
    this.sql = prepareStatements(database);
    this.rates = new RateWindows(this.sql, journal);
    this.trees = new TreeCache(this.sql, (id) => this.rates.requestsOf(id));
  }

  get(keyId: string): KeyState | undefined {
    const known = this.#states.get(keyId);
    if (known !== undefined) return known;
    const row = this.sql.totals.get(keyId);
    if (row === undefined) return undefined;
    const totals = totalsFrom(row);
    const { accountId } = totals.key;
    const tree = accountId === null ? undefined : this.tree(accountId);
    // A tree that was not loaded brings along the keys that hold something, and this one may be one of them.
    return this.#states.get(keyId) ?? this.#load(totals, tree);
  }

  /** The key that a secret with this digest belongs to. */
  ofDigest(digest: string): KeyState | undefined {
    const row = this.sql.keyOfDigest.get(digest);
    return row === undefined ? undefined : this.get(text(row, 'key_id'));
  }

  #load(totals: KeyTotals, tree: Tree | undefined): KeyState {
    const { id: keyId, accountId } = totals.key;
    const unpersisted = this.#unpersistedByKey.get(keyId) ?? [];
    this.#unpersistedByKey.delete(keyId);
    const path = tree === undefined || accountId === null ? null : pathOf(tree, accountId);
    const state = this.#stateFrom(totals, keyId, path, unpersisted);
    this.#states.set(keyId, state);
    for (const hold of unpersisted) reserve(state, nodesOf(state, hold), hold.amount, hold.tokens, 1);
    if (tree !== undefined && state.liveHolds > 0) tree.holding.set(keyId, state);
    return state;
  }

  /** The tree that an account belongs to. */
  tree(accountId: string): Tree | undefined {
    return this.trees.treeOf(accountId, ({ rootId }) => {
      for (const row of this.sql.cold('SELECT DISTINCT key_id FROM holds WHERE root_id = ?').all(rootId)) {
        this.get(text(row, 'key_id'));
      }
      const root = JSON.stringify(rootId);
      for (const [keyId, holds] of [...this.#unpersistedByKey]) {
        if (holds.some(({ path }) => path?.endsWith(`${root}]`))) this.get(keyId);
      }
    });
  }

  /** The keys of a tree have other accounts above them than before. */
  recomputePaths(tree: Tree): void {
    for (const state of this.#states.values()) {
      const { accountId } = state.key;
      if (state.path?.tree === tree && accountId !== null) state.path = pathOf(tree, accountId);
    }
  }

  #stateFrom(totals: KeyTotals, keyId: string, path: Path | null, unpersisted: readonly Hold[]): KeyState {
    const holds = [...this.sql.holdsOfKey.all(keyId).map(readHold), ...unpersisted];
    if (unpersisted.length > 0) holds.sort((a, b) => a.heldAtMs - b.heldAtMs);
    return {
      ...totals,
      persistedReserved: totals.reserved,
      persistedHolds: totals.liveHolds,
      holds: new CompactingMap(holds.map((hold) => [hold.id, hold])),
      window: this.rates.requestsOf(keyId),
      path,
      promotions: totals.promoMs === null ? null : readPromotions(this.sql.cold, keyId),
      newestEnded: newestId(this.sql.newestEnded.get(keyId)),
      dirty: false,
    };
  }

  /** The totals of the key are about to change. */
  markDirty(state: KeyState): void {
    if (state.dirty) return;
    state.dirty = true;
    this.#dirty.push(state);
  }

  /** Input or output of a request of this key, at every level that limits tokens per minute. */
  countTokens({ key }: KeyState, nodes: readonly AccountNode[], tokens: number): void {
    if (key.tpmLimit !== null) this.rates.takeTokens(key.id, tokens, this.steadyMs);
    for (const { account } of nodes) {
      if (account.tpmLimit !== null) this.rates.takeTokens(account.id, tokens, this.steadyMs);
    }
  }

  /** A hold that only memory has is about to change. */
  snapshot(hold: Hold): void {
    if (hold.persisted) return;
    const { amount, tokens, waiting, markNumber, markCharge, markDetail } = hold;
    this.#snapshots.push({ hold, amount, tokens, waiting, markNumber, markCharge, markDetail });
  }

  persist(state: KeyState, hold: Hold): void {
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
      hold.tokens,
      hold.path === null ? null : (state.path?.tree.rootId ?? null),
      hold.path,
    );
    this.reservePersisted(state, nodesOf(state, hold), hold.amount, hold.tokens, 1);
  }

  /** What the file has of a hold changes on its path. */
  reservePersisted(
    state: KeyState,
    nodes: readonly AccountNode[],
    amount: bigint,
    tokens: bigint,
    holds: 0 | 1 | -1,
  ): void {
    this.markDirty(state);
    state.persistedReserved += amount;
    state.persistedHolds += holds;
    for (const node of nodes) {
      this.trees.markDirty(node);
      if (state.key.mode === 'credit') node.persistedReserved += amount;
      node.persistedReservedTokens += tokens;
      node.persistedHolds += holds;
    }
  }

  /** From then on the file alone has everything. */
  persistAll(): void {
    for (const keyId of [...this.#unpersistedByKey.keys()]) this.get(keyId);
    for (const state of this.#states.values()) {
      for (const hold of state.holds.values()) {
        if (hold.persisted) continue;
        this.snapshot(hold);
        this.persist(state, hold);
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
    return this.#dirty.length > 0 || this.trees.unwritten || this.rates.unwritten;
  }

  /** Writes charges, usage and the totals that changed, and the rates where it is time, or all of them. */
  flush(allRates = false): void {
    this.sql.charges.write();
    this.sql.usage.write();
    this.sql.unrolled.write();
    for (const state of this.#dirty) {
      this.sql.saveTotals.run(
        // The root has paid for what a key of an account has used and holds.
        state.path === null || state.key.mode !== 'credit' ? state.purchased : state.used + state.persistedReserved,
        state.used,
        state.persistedReserved,
        state.persistedHolds,
        state.periodStartMs,
        state.periodUsed,
        state.dayStartMs,
        state.daySpend,
        state.lastCost,
        state.inputTokens,
        state.outputTokens,
        state.requests,
        state.holdMs,
        state.key.id,
      );
      state.dirty = false;
    }
    this.#dirty.length = 0;
    this.trees.flush();
    this.rates.flush(allRates, this.steadyMs);
  }

  committed(): void {
    this.rates.committed();
    if (this.#snapshots.length > 0) this.#snapshots = [];
  }

  /** The file is as it was before the transaction, and memory becomes so. */
  rolledBack(): void {
    this.rates.rolledBack();
    const unpersisted = new Set<Hold>();
    for (const { hold, ...before } of this.#snapshots.reverse()) {
      Object.assign(hold, before, { persisted: false });
      unpersisted.add(hold);
    }
    if (this.#snapshots.length > 0) this.#snapshots = [];
    this.#drop(unpersisted);
  }

  /** The file is as it was at the savepoint, and memory becomes so. */
  rolledBackToSavepoint(): void {
    this.rates.rolledBackToSavepoint();
    this.#drop(new Set());
  }

  /** Reads again from the file what it has. */
  #drop(unpersisted: Set<Hold>): void {
    this.sql.charges.drop();
    this.sql.usage.drop();
    this.sql.unrolled.drop();
    const unpersistedByKey = new Map(this.#unpersistedByKey);
    for (const state of this.#states.values()) {
      const holds = [...state.holds.values()].filter((hold) => !hold.persisted);
      for (const hold of holds) unpersisted.delete(hold);
      if (holds.length > 0) unpersistedByKey.set(state.key.id, holds);
    }
    for (const hold of unpersisted) {
      unpersistedByKey.set(hold.keyId, [...(unpersistedByKey.get(hold.keyId) ?? []), hold]);
    }
    this.#unpersistedByKey = unpersistedByKey;
    this.#states.clear();
    this.trees.drop();
    this.rates.drop();
    this.#dirty.length = 0;
    this.#owners = null;
  }

  /** Keeps memory bounded; called between batches. */
  trim(): void {
    if (this.#states.size > STATES_MAX) this.#drop(new Set());
  }
}

function newestId(row: Row | undefined): string {
  return (row === undefined ? null : textOrNull(row, 'id')) ?? '';
}
