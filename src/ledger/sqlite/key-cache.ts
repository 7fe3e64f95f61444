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
import { addRun, endRun } from '../books/runs.ts';
import { type Hold, idOf, nodesOf, type Path, type Payer, pathOf, reserve } from '../engine/key-state.ts';
import { keepRest } from '../engine/promotions.ts';
import type { Charge, Claim, ClaimState, HoldEnd, WorkingSet } from '../engine/working-set.ts';
import type { KeptResponse, NewRun, RunEnd, StoredReply } from '../port.ts';
import type { KeyTotals } from '../rules/key-totals.ts';
import type { Promotion } from '../rules/promotions.ts';
import { totalsFrom } from '../rules/row-mapping.ts';
import type { JournalBatch } from './charge-journal.ts';
import { addCharge, addExpired, addPromotionCharge, claimOf, endOf } from './charges.ts';
import { DirtyRows } from './dirty-rows.ts';
import type { RateJournal } from './rate-journal.ts';
import { RateWindows } from './rate-windows.ts';
import { keepResponse } from './responses.ts';
import { markText, readHold, readPromotions, totalsRow } from './rows.ts';
import { performCold, prepareStatements, type Statements } from './statements.ts';
import { type CachedKey, type CachedNode, type CachedTree, TreeCache } from './tree-cache.ts';

/** Keys in memory; beyond this many, all are dropped between two batches and read again as they are needed. */
const STATES_MAX = 50_000;

/** A hold that only memory has, as it was before the transaction that changes it. */
type Snapshot = Pick<Hold, 'amount' | 'tokens' | 'waiting' | 'mark'> & {
  readonly hold: Hold;
};

export class KeyCache implements WorkingSet {
  readonly sql: Statements;
  readonly #states = new Map<string, CachedKey>();
  readonly #dirty = new DirtyRows<CachedKey>();
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

  get(keyId: string): CachedKey | undefined {
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
  ofDigest(digest: string): CachedKey | undefined {
    const row = this.sql.keyOfDigest.get(digest);
    return row === undefined ? undefined : this.get(text(row, 'key_id'));
  }

  #load(totals: KeyTotals, tree: CachedTree | undefined): CachedKey {
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
  tree(accountId: string): CachedTree | undefined {
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
  recomputePaths(tree: CachedTree): void {
    for (const state of this.#states.values()) {
      const { accountId } = state.key;
      if (state.path?.tree === tree && accountId !== null) state.path = pathOf(tree, accountId);
    }
  }

  #stateFrom(totals: KeyTotals, keyId: string, path: Path<CachedNode> | null, unpersisted: readonly Hold[]): CachedKey {
    const holds = [...this.sql.holdsOfKey.all(keyId).map((row) => readHold(row, totals.key.mode)), ...unpersisted];
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
  markDirty(state: CachedKey): void {
    this.#dirty.add(state);
  }

  markNodeDirty(node: CachedNode): void {
    this.trees.markDirty(node);
  }

  isLiving(owner: string): boolean {
    return this.owners.has(owner);
  }

  *holdsOf(holder: CachedKey | CachedTree): Generator<Hold> {
    if (!('holding' in holder)) yield* holder.holds.values();
    else for (const { holds } of holder.holding.values()) yield* holds.values();
  }

  endOf(state: CachedKey, holdId: string): HoldEnd | null {
    return holdId > state.newestEnded ? null : endOf(this.sql, state.key.id, holdId);
  }

  claimOf(keyId: string, name: string): Claim | null {
    return claimOf(this.sql, keyId, name);
  }

  holdPlaced(state: CachedKey, hold: Hold, inMemory: boolean): void {
    (state.path?.tree as CachedTree | undefined)?.holding.set(state.key.id, state);
    if (!inMemory) this.persist(state, hold);
  }

  /** One that only memory has must be restored by a rollback. */
  holdChanges(hold: Hold): void {
    if (hold.persisted) return;
    const { amount, tokens, waiting, mark } = hold;
    this.#snapshots.push({ hold, amount, tokens, waiting, mark });
  }

  holdExtended(state: CachedKey, hold: Hold, moreAmount: bigint, moreTokens: bigint): void {
    if (!hold.persisted) return;
    this.sql.extendHold.run(hold.amount, hold.tokens, hold.waiting ? 1 : 0, hold.keyId, hold.id);
    this.#reservePersisted(state, nodesOf(state, hold), moreAmount, moreTokens, 0);
  }

  holdMarked(state: CachedKey, hold: Hold): void {
    if (!hold.persisted) this.persist(state, hold);
    else if (hold.mark !== null) this.sql.markHold.run(hold.mark.charge, markText(hold.mark), hold.keyId, hold.id);
  }

  holdReleased(state: CachedKey, hold: Hold): void {
    if (hold.persisted) {
      this.sql.deleteHold.run(hold.keyId, hold.id);
      this.#reservePersisted(state, nodesOf(state, hold), -hold.amount, -hold.tokens, -1);
    }
    if (state.liveHolds === 0) (state.path?.tree as CachedTree | undefined)?.holding.delete(state.key.id);
    this.#ended(state, hold.id);
  }

  #ended(state: CachedKey, holdId: string): void {
    if (holdId > state.newestEnded) state.newestEnded = holdId;
  }

  addCharge(charge: Charge): void {
    addCharge(this.sql, charge.state.path?.tree.rootId ?? null, charge);
  }

  addVoided(state: CachedKey, holdId: string, held: bigint): void {
    this.sql.addVoided.run(state.key.id, holdId, held, this.nowMs);
    this.#ended(state, holdId);
  }

  addClaim(keyId: string, name: string, fingerprint: string, holdId: string): void {
    this.sql.addClaim.run(keyId, name, fingerprint, holdId);
  }

  endClaim(keyId: string, name: string, state: ClaimState, reply: StoredReply | null): void {
    const { status = null, contentType = null, body = null } = reply ?? {};
    this.sql.endClaim.run(state, this.nowMs, status, contentType, body, keyId, name);
  }

  deleteClaim(keyId: string, name: string): void {
    this.sql.deleteClaim.run(keyId, name);
  }

  keepResponse(keyId: string, kept: KeptResponse): void {
    keepResponse(this.sql.cold, keyId, kept, this.nowMs);
  }

  addRun(hold: Hold, run: NewRun): void {
    performCold(this.sql.cold, addRun(hold, run));
  }

  endRun(keyId: string, end: RunEnd): void {
    performCold(this.sql.cold, endRun(keyId, end, this.nowMs));
  }

  savePromotion(payerId: string, { id, remaining }: Promotion): void {
    this.sql.cold('UPDATE promotions SET remaining = ? WHERE node_id = ? AND id = ?').run(remaining, payerId, id);
  }

  savePromoMs(payer: Payer): void {
    const [table, key] = 'account' in payer ? ['tree_accounts', 'id'] : ['accounts', 'key_id'];
    this.sql.cold(`UPDATE ${table} SET promo_ms = ? WHERE ${key} = ?`).run(payer.promoMs, idOf(payer));
  }

  addPromotionCharge(payerId: string, promotionId: string, hold: Hold, amount: bigint): void {
    addPromotionCharge(this.sql, payerId, promotionId, hold, amount);
  }

  addExpired(payerId: string, promotionId: string, amount: bigint): void {
    addExpired(this.sql, payerId, promotionId, amount, this.nowMs);
  }

  /** After promotional credit was added or has moved. */
  readPromotions(payer: Payer): void {
    keepRest(this, payer, readPromotions(this.sql.cold, idOf(payer)) ?? []);
  }

  persist(state: CachedKey, hold: Hold): void {
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
      hold.mark?.charge ?? null,
      hold.mark === null ? null : markText(hold.mark),
      hold.waiting ? 1 : 0,
      hold.tokens,
      hold.path === null ? null : (state.path?.tree.rootId ?? null),
      hold.path,
      hold.run ? 1 : 0,
    );
    this.#reservePersisted(state, nodesOf(state, hold), hold.amount, hold.tokens, 1);
  }

  /** What the file has of a hold changes on its path. */
  #reservePersisted(
    state: CachedKey,
    nodes: readonly CachedNode[],
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
        this.holdChanges(hold);
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
    return !this.#dirty.empty || this.trees.unwritten || this.rates.unwritten;
  }

  /** Writes charges, usage and the totals that changed, and the rates where it is time, or all of them. */
  flush(allRates = false): void {
    this.sql.charges.write();
    this.sql.usage.write();
    this.sql.unrolled.write();
    for (const state of this.#dirty.forDatabase()) this.sql.saveTotals.run(...totalsRow(state));
    this.trees.flush();
    this.rates.flush(allRates, this.steadyMs);
  }

  /** What has changed since the last time; it is still to be written. */
  forJournal(): JournalBatch {
    return {
      entries: this.sql.charges.forJournal(),
      usage: this.sql.usage.forJournal(),
      unrolled: this.sql.unrolled.forJournal(),
      keys: this.#dirty.forJournal().map(totalsRow),
      accounts: this.trees.forJournal(),
    };
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
    this.#dirty.drop();
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
