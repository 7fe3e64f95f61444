/**
 * Rows of keys and accounts that somebody keeps locked: a forgotten `psql`, a gateway that stands still. Whoever has waited for one as
 * long as a batch may wait goes again without it, and so do the batches that follow, as long as it is locked: what is about it fails,
 * and everybody else is served.
 */
import { text } from '../../storage/columns.ts';
import type { Query } from '../../storage/postgres/connection.ts';
import type { KeyedOperation } from './needs.ts';
import type { Route } from './payers.ts';

type Routes = ReadonlyMap<string, Route>;

/** Those that can be locked at this moment. */
const FREE_KEYS = 'SELECT key_id AS id FROM gateway.accounts WHERE key_id = ANY ($1) FOR UPDATE SKIP LOCKED';
const FREE_ACCOUNTS = 'SELECT id FROM gateway.tree_accounts WHERE id = ANY ($1) FOR UPDATE SKIP LOCKED';
/** At a moment a row may be locked by the batch of another gateway: it is waited for, for as long as a few of those take. */
export const STUCK_WAIT_MS = 100;
/** So many of them, once in so long: in between, what is about them fails at once. */
const TRIES_MAX = 2;
const TRY_INTERVAL_MS = 1_000;
/** Nobody has asked for it since: the next one waits for it again. */
const FORGET_MS = 600_000;

export interface Parted {
  /** What is about none of them, beside what it was: marks of a stuck row are left out, because the next are under way. */
  readonly free: ReadonlyMap<KeyedOperation, KeyedOperation>;
  /** By one of them that it is about. */
  readonly stuck: ReadonlyMap<string, readonly KeyedOperation[]>;
  /** Of these: those that are tried now. */
  readonly tried: ReadonlySet<string>;
}

export class StuckRows {
  /** By their ids: when they were asked for last. Those that were tried last come last. */
  readonly #askedMs = new Map<string, number>();
  #triedMs = Number.NEGATIVE_INFINITY;
  /** Monotonic. */
  readonly #nowMs: () => number;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  get any(): boolean {
    return this.#askedMs.size > 0;
  }

  /** After a wait that was too long: what of these keys, and of the accounts above them, is locked. False where that is nothing new. */
  async look(query: Query, routes: Routes): Promise<boolean> {
    const known = this.#askedMs.size;
    const ids = new Set(Array.from(routes, ([keyId, { accountIds }]) => [keyId, ...accountIds]).flat());
    for (const id of await lockedOf(query, ids)) if (!this.#askedMs.has(id)) this.#askedMs.set(id, this.#nowMs());
    return this.#askedMs.size > known;
  }

  /** Those that these keys are about. */
  among(routes: Routes): ReadonlySet<string> {
    const nowMs = this.#nowMs();
    for (const [id, askedMs] of this.#askedMs) if (askedMs < nowMs - FORGET_MS) this.#askedMs.delete(id);
    const rows = new Set([...routes].flatMap(([keyId, route]) => this.#rowsOf(keyId, route)));
    for (const id of rows) this.#askedMs.set(id, nowMs);
    return rows;
  }

  /** `rows`: what the batch has of them. Those that are free again are forgotten. */
  async part(
    query: Query,
    rows: ReadonlySet<string>,
    routes: Routes,
    batch: readonly KeyedOperation[],
  ): Promise<Parted> {
    const locked = await lockedOf(query, rows);
    for (const id of rows) if (!locked.has(id)) this.#askedMs.delete(id);
    const tried = this.#triable(locked);
    const stuckOf = (keyId: string): string | undefined => this.#rowsOf(keyId, routes.get(keyId))[0];
    const free = new Map<KeyedOperation, KeyedOperation>();
    const stuck = new Map<string, KeyedOperation[]>();
    for (const operation of batch) {
      if (operation.op === 'mark') {
        const marks = operation.marks.filter(({ keyId }) => stuckOf(keyId) === undefined);
        free.set(operation, { ...operation, marks });
        continue;
      }
      const id = stuckOf('request' in operation ? operation.request.keyId : operation.keyId);
      if (id === undefined) free.set(operation, operation);
      else stuck.set(id, [...(stuck.get(id) ?? []), operation]);
    }
    return { free, stuck, tried };
  }

  #triable(locked: ReadonlySet<string>): ReadonlySet<string> {
    const nowMs = this.#nowMs();
    if (nowMs < this.#triedMs + TRY_INTERVAL_MS) return new Set();
    const tried = new Set([...this.#askedMs.keys()].filter((id) => locked.has(id)).slice(0, TRIES_MAX));
    for (const id of tried) {
      this.#triedMs = nowMs;
      this.#askedMs.delete(id);
      this.#askedMs.set(id, nowMs);
    }
    return tried;
  }

  #rowsOf(keyId: string, route: Route | undefined): readonly string[] {
    return [keyId, ...(route?.accountIds ?? [])].filter((id) => this.#askedMs.has(id));
  }
}

async function lockedOf(query: Query, ids: ReadonlySet<string>): Promise<ReadonlySet<string>> {
  if (ids.size === 0) return ids;
  const values = [[...ids]];
  const rows = [...(await query(FREE_KEYS, values)), ...(await query(FREE_ACCOUNTS, values))];
  const free = new Set(rows.map((row) => text(row, 'id')));
  return new Set([...ids].filter((id) => !free.has(id)));
}
