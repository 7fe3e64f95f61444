/** What the operations of one batch work on in PostgreSQL: objects made of the rows that were loaded, and what they changed. */
import { integer, type Row, text } from '../../storage/columns.ts';
import {
  type AccountNode,
  type Hold,
  idOf,
  type KeyState,
  nodesOf,
  type Payer,
  pathOf,
  type Tree,
} from '../engine/key-state.ts';
import type { Charge, Claim, ClaimState, HoldEnd, RateCounts, WorkingSet } from '../engine/working-set.ts';
import type { KeptResponse, NewRun, RunEnd, StoredReply } from '../port.ts';
import type { Promotion } from '../rules/promotions.ts';
import { claimFrom, nodeFrom, promotionsFrom, totalsFrom } from '../rules/row-mapping.ts';
import { type Loaded, NotLoaded } from './load.ts';
import { PairMap } from './needs.ts';
import { RequestPlaces, TokenPlaces } from './places.ts';
import { readHold } from './rows.ts';

export interface LoadedKey extends KeyState<LoadedNode> {
  readonly holds: Map<string, Hold>;
  readonly window: RequestPlaces;
  /** The latest time that it has seen; that of a root is the time of its tree. */
  seenMs: number;
}

export interface LoadedNode extends AccountNode {
  readonly window: RequestPlaces;
  seenMs: number;
}

/** What was there is made another; null: it is removed. */
interface ClaimChange {
  readonly keyId: string;
  readonly name: string;
  readonly holdId: string | null;
  readonly claim: Claim | null;
}

interface NewRow {
  readonly atMs: number;
}

/** What has to be saved, each once. */
export class Changes {
  readonly keys = new Set<LoadedKey>();
  readonly nodes = new Set<LoadedNode>();
  readonly tokens = new Map<string, TokenPlaces>();
  /** Those that are new and live, those that the database has and that changed, and those of them that ended. */
  readonly newHolds = new Set<Hold>();
  readonly changedHolds = new Set<Hold>();
  readonly endedHolds = new Set<Hold>();
  readonly charges: (Charge & { readonly rootId: string | null })[] = [];
  readonly voided: (NewRow & { readonly keyId: string; readonly holdId: string; readonly held: bigint })[] = [];
  readonly claims = new PairMap<ClaimChange>();
  readonly kept: (NewRow & { readonly keyId: string; readonly kept: KeptResponse })[] = [];
  readonly newRuns: { readonly hold: Hold; readonly run: NewRun }[] = [];
  readonly endedRuns: (NewRow & { readonly keyId: string; readonly end: RunEnd })[] = [];
  readonly promotions = new PairMap<{ readonly payerId: string; readonly promotion: Promotion }>();
  readonly promotionCharges: {
    readonly payerId: string;
    readonly promotionId: string;
    readonly hold: Hold;
    readonly amount: bigint;
  }[] = [];
  readonly expired: (NewRow & { readonly payerId: string; readonly promotionId: string; readonly amount: bigint })[] =
    [];
}

export class LoadedSet implements WorkingSet {
  readonly #loaded: Loaded;
  readonly #keys = new Map<string, LoadedKey>();
  readonly #trees = new Map<string, Tree<LoadedNode>>();
  readonly #tokens = new Map<string, TokenPlaces>();
  /** Of the key that was asked for last. */
  nowMs: number;
  readonly #live: ReadonlyMap<string, readonly Row[]>;
  /** By operations of this batch. */
  readonly #ends = new PairMap<HoldEnd>();
  readonly #claims = new PairMap<Claim>();
  readonly changes = new Changes();

  constructor(loaded: Loaded) {
    this.#loaded = loaded;
    this.nowMs = loaded.nowMs;
    this.#live = Map.groupBy(loaded.holds, (row) => text(row, 'key_id'));
    for (const row of loaded.claims) this.#claims.set(text(row, 'key_id'), text(row, 'name'), claimFrom(row));
  }

  get steadyMs(): number {
    return this.nowMs;
  }

  /** Its time, and that of its payer, go on. */
  get(keyId: string): LoadedKey | undefined {
    const state = this.#keys.get(keyId) ?? this.#make(keyId);
    if (state === undefined) return undefined;
    const payer = state.path === null ? state : state.path.root;
    this.nowMs = Math.max(this.#loaded.nowMs, state.seenMs, payer.seenMs);
    state.seenMs = this.nowMs;
    payer.seenMs = this.nowMs;
    return state;
  }

  #make(keyId: string): LoadedKey | undefined {
    const { keys, requests, routes } = this.#loaded;
    const row = keys.get(keyId);
    if (row === undefined) return undefined;
    const totals = totalsFrom(row);
    const rootId = routes.get(keyId)?.rootId ?? null;
    const { accountId, mode } = totals.key;
    const holds = (this.#live.get(keyId) ?? []).map((each) => readHold(each, mode));
    const state: LoadedKey = {
      ...totals,
      seenMs: integer(row, 'seen_ms'),
      window: new RequestPlaces(keyId, row, requests.get(keyId)),
      holds: new Map(holds.map((hold) => [hold.id, hold])),
      path: rootId === null || accountId === null ? null : pathOf(this.#tree(rootId), accountId),
      promotions: null,
    };
    if (rootId === null) this.#lendPromotions(state, totals.promoMs);
    this.#keys.set(keyId, state);
    return state;
  }

  #tree(rootId: string): Tree<LoadedNode> {
    let tree = this.#trees.get(rootId);
    if (tree === undefined) {
      tree = { rootId, nodes: new Map() };
      for (const row of this.#loaded.nodes.values()) {
        if (text(row, 'root_id') !== rootId) continue;
        const totals = nodeFrom(row);
        const { id } = totals.account;
        const window = new RequestPlaces(id, row, this.#loaded.requests.get(id));
        const node: LoadedNode = { ...totals, seenMs: integer(row, 'seen_ms'), window, promotions: null };
        if (id === rootId) this.#lendPromotions(node, totals.promoMs);
        tree.nodes.set(id, node);
      }
      this.#trees.set(rootId, tree);
    }
    return tree;
  }

  /** What is left of them, which is asked for where there is any; until somebody sets them. */
  #lendPromotions(payer: Payer, promoMs: number | null): void {
    if (promoMs === null) return;
    const rows = this.#loaded.promotions.get(idOf(payer));
    if (rows !== undefined) {
      payer.promotions = promotionsFrom(rows);
      return;
    }
    Object.defineProperty(payer, 'promotions', {
      get: () => {
        throw new NotLoaded('promotions', idOf(payer));
      },
    });
  }

  readonly rates: RateCounts = {
    takeRequest: (_: string, window: RequestPlaces, nowMs: number) => window.take(nowMs),
    tokensOf: (id) => this.#tokensOf(id),
    takeTokens: (id, count, nowMs) => {
      const places = this.#tokensOf(id);
      places.take(count, nowMs);
      this.changes.tokens.set(id, places);
    },
  };

  #tokensOf(id: string): TokenPlaces {
    let places = this.#tokens.get(id);
    if (places === undefined) {
      places = new TokenPlaces(id, this.#loaded.tokens.get(id));
      this.#tokens.set(id, places);
    }
    return places;
  }

  isLiving(owner: string): boolean {
    return this.#loaded.living.has(owner);
  }

  *holdsOf(holder: LoadedKey | Tree): Generator<Hold> {
    const ofRoot = 'nodes' in holder;
    const id = ofRoot ? holder.rootId : holder.key.id;
    const rows = this.#loaded.allHolds.get(id);
    if (rows === undefined) throw new NotLoaded(ofRoot ? 'holdsOfRoot' : 'holdsOfKey', id);
    const ended = new PairMap<true>();
    for (const hold of this.changes.endedHolds) ended.set(hold.keyId, hold.id, true);
    for (const row of rows) {
      const [keyId, holdId] = [text(row, 'key_id'), text(row, 'id')];
      if (ended.get(keyId, holdId)) continue;
      yield this.#keys.get(keyId)?.holds.get(holdId) ?? readHold(row, row.mode as Hold['mode']);
    }
    for (const hold of this.changes.newHolds) {
      if (ofRoot ? this.#keys.get(hold.keyId)?.path?.tree === holder : hold.keyId === id) yield hold;
    }
  }

  endOf(state: KeyState, holdId: string): HoldEnd | null {
    const { id } = state.key;
    const end = this.#ends.get(id, holdId) ?? this.#loaded.ends.get(id, holdId);
    if (end === undefined) throw new NotLoaded('end', id, { holdId });
    return end;
  }

  claimOf(keyId: string, name: string): Claim | null {
    return this.#claims.get(keyId, name) ?? null;
  }

  markDirty(state: LoadedKey): void {
    this.changes.keys.add(state);
  }

  markNodeDirty(node: LoadedNode): void {
    this.changes.nodes.add(node);
  }

  holdPlaced(state: LoadedKey, hold: Hold): void {
    this.changes.newHolds.add(hold);
    this.#pathChanged(state, hold);
  }

  holdChanges(): void {
    // A batch that fails is decided again from what was loaded.
  }

  holdExtended(state: LoadedKey, hold: Hold): void {
    if (hold.persisted) this.changes.changedHolds.add(hold);
    this.#pathChanged(state, hold);
  }

  holdMarked(_: LoadedKey, hold: Hold): void {
    if (hold.persisted) this.changes.changedHolds.add(hold);
  }

  holdReleased(state: LoadedKey, hold: Hold): void {
    const { newHolds, changedHolds, endedHolds } = this.changes;
    newHolds.delete(hold);
    changedHolds.delete(hold);
    if (hold.persisted) endedHolds.add(hold);
    this.#pathChanged(state, hold);
  }

  /** What is reserved on it has changed. */
  #pathChanged(state: LoadedKey, hold: Hold): void {
    this.changes.keys.add(state);
    for (const node of nodesOf(state, hold)) this.changes.nodes.add(node);
  }

  addCharge(charge: Charge): void {
    const { hold, state, amount } = charge;
    this.changes.charges.push({ ...charge, rootId: state.path?.tree.rootId ?? null });
    const heldTokens = hold.path === null ? null : hold.tokens;
    this.#ends.set(hold.keyId, hold.id, { kind: 'charged', amount, held: hold.amount, heldTokens });
  }

  addVoided(state: KeyState, holdId: string, held: bigint): void {
    this.changes.voided.push({ keyId: state.key.id, holdId, held, atMs: this.nowMs });
    this.#ends.set(state.key.id, holdId, { kind: 'voided' });
  }

  addClaim(keyId: string, name: string, fingerprint: string, holdId: string): void {
    this.#changeClaim(keyId, name, holdId, { fingerprint, state: 'running', endedAtMs: null, reply: null });
  }

  endClaim(keyId: string, name: string, state: ClaimState, reply: StoredReply | null): void {
    const fingerprint = this.claimOf(keyId, name)?.fingerprint ?? '';
    this.#changeClaim(keyId, name, null, { fingerprint, state, endedAtMs: this.nowMs, reply });
  }

  deleteClaim(keyId: string, name: string): void {
    this.#changeClaim(keyId, name, null, null);
  }

  #changeClaim(keyId: string, name: string, holdId: string | null, claim: Claim | null): void {
    if (claim === null) this.#claims.delete(keyId, name);
    else this.#claims.set(keyId, name, claim);
    const earlier = this.changes.claims.get(keyId, name);
    // One that is new is added with the state that it has in the end.
    this.changes.claims.set(keyId, name, { keyId, name, holdId: holdId ?? earlier?.holdId ?? null, claim });
  }

  keepResponse(keyId: string, kept: KeptResponse): void {
    this.changes.kept.push({ keyId, kept, atMs: this.nowMs });
  }

  addRun(hold: Hold, run: NewRun): void {
    this.changes.newRuns.push({ hold, run });
  }

  endRun(keyId: string, end: RunEnd): void {
    this.changes.endedRuns.push({ keyId, end, atMs: this.nowMs });
  }

  savePromotion(payerId: string, promotion: Promotion): void {
    this.changes.promotions.set(payerId, promotion.id, { payerId, promotion });
  }

  savePromoMs(payer: LoadedKey | LoadedNode): void {
    if ('account' in payer) this.changes.nodes.add(payer);
    else this.changes.keys.add(payer);
  }

  addPromotionCharge(payerId: string, promotionId: string, hold: Hold, amount: bigint): void {
    this.changes.promotionCharges.push({ payerId, promotionId, hold, amount });
  }

  addExpired(payerId: string, promotionId: string, amount: bigint): void {
    this.changes.expired.push({ payerId, promotionId, amount, atMs: this.nowMs });
  }

  /** Places in rate limits are taken whether or not anything else changes. */
  finish(): void {
    for (const state of this.#keys.values()) if (state.window.taken.length > 0) this.changes.keys.add(state);
    for (const { nodes } of this.#trees.values()) {
      for (const node of nodes.values()) if (node.window.taken.length > 0) this.changes.nodes.add(node);
    }
  }

  /** As they were found. */
  get seen(): Iterable<KeyState> {
    return this.#keys.values();
  }
}
