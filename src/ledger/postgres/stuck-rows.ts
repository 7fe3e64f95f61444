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
/** So often, and for so many of them in one batch. */
const TRY_INTERVAL_MS = 1_000;
const TRIES_MAX = 2;
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
  /** By their ids: when they are tried next. */
  readonly #tryAtMs = new Map<string, number>();

  get any(): boolean {
    return this.#tryAtMs.size > 0;
  }

  /** After a wait that was too long: what of these keys, and of the accounts above them, is locked. False where it was none of them. */
  async look(query: Query, routes: Routes): Promise<boolean> {
    const nowMs = performance.now();
    const payers = new Set(Array.from(routes, ([keyId, { rootId }]) => rootId ?? keyId));
    const all = new Set(Array.from(routes, ([keyId, { accountIds }]) => [keyId, ...accountIds]).flat());
    // Whoever has locked a payer has locked what is below it.
    for (const ids of [payers, all]) {
      const known = this.#tryAtMs.size;
      for (const id of await lockedOf(query, ids)) if (!this.#tryAtMs.has(id)) this.#tryAtMs.set(id, nowMs);
      if (this.#tryAtMs.size > known) return true;
    }
    return false;
  }

  /** Those that are free again are forgotten. */
  async part(query: Query, routes: Routes, batch: readonly KeyedOperation[]): Promise<Parted> {
    const nowMs = performance.now();
    for (const [id, atMs] of this.#tryAtMs) if (atMs < nowMs - FORGET_MS) this.#tryAtMs.delete(id);
    const concerned = new Set([...routes].flatMap(([keyId, route]) => this.#rowsOf(keyId, route)));
    const locked = await lockedOf(query, concerned);
    for (const id of concerned) if (!locked.has(id)) this.#tryAtMs.delete(id);
    const tried = new Set([...locked].filter((id) => (this.#tryAtMs.get(id) ?? 0) <= nowMs).slice(0, TRIES_MAX));
    for (const id of tried) this.#tryAtMs.set(id, nowMs + TRY_INTERVAL_MS);
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

  /** It was waited for, and is there. */
  forget(id: string): void {
    this.#tryAtMs.delete(id);
  }

  #rowsOf(keyId: string, route: Route | undefined): readonly string[] {
    return [keyId, ...(route?.accountIds ?? [])].filter((id) => this.#tryAtMs.has(id));
  }
}

async function lockedOf(query: Query, ids: ReadonlySet<string>): Promise<ReadonlySet<string>> {
  if (ids.size === 0) return ids;
  const values = [[...ids]];
  const rows = [...(await query(FREE_KEYS, values)), ...(await query(FREE_ACCOUNTS, values))];
  const free = new Set(rows.map((row) => text(row, 'id')));
  return new Set([...ids].filter((id) => !free.has(id)));
}
