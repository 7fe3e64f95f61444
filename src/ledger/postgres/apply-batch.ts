/**
 * Batches on the hot connection: locked and loaded in one flight, decided by the engine that serves the embedded store too, and
 * saved with the commit in another.
 */
import { Refusal } from '../../storage/errors.ts';
import type { Connection, Query } from '../../storage/postgres/connection.ts';
import { isConflict, isLockTimeout, isOperationFailure } from '../../storage/postgres/error-mapping.ts';
import { admit } from '../engine/admit.ts';
import { extend, mark, settle, voidById } from '../engine/hold.ts';
import { recoverHold } from '../engine/recover.ts';
import { summarize } from '../engine/summary.ts';
import type { WorkingSet } from '../engine/working-set.ts';
import type { Result } from '../operations.ts';
import { eventBytes, responseBytes } from '../rules/stored-responses.ts';
import { checkText } from './check-text.ts';
import type { LedgerClock } from './ledger-clock.ts';
import { type Loaded, load, loadMore, loadNodes, NotLoaded, nothing } from './load.ts';
import { LoadedSet } from './loaded-set.ts';
import { type KeyedOperation, needsOf } from './needs.ts';
import type { Payers, Route } from './payers.ts';
import { pathOfHold } from './rows.ts';
import { save } from './save.ts';
import { STUCK_WAIT_MS, type StuckRows } from './stuck-rows.ts';

export interface HotStorage {
  readonly connection: Connection;
  readonly clock: LedgerClock;
  readonly payers: Payers;
  readonly stuck: StuckRows;
  /** As `server_version_num`. */
  readonly serverVersion: number;
}

/** What one transaction may bring along or back, in bytes, and how many operations: its locks must not be held for long. */
const WEIGHT_MAX = 64_000_000;
const OPERATIONS_MAX = 1_000;
/** What a claim may bring back: the largest reply that is stored. */
const REPLAY_WEIGHT = 1_400_000;
const BASE_WEIGHT = 500;
const CONFLICT_TRIES = 5;
/** A batch that waits too long goes again without what is locked; whoever is still in its way then is not looked for again and again. */
const LOOKS_MAX = 2;

/** One result each. */
export async function applyBatch(storage: HotStorage, batch: readonly KeyedOperation[]): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const part of partsOf(batch)) {
    results.push(...(storage.stuck.any ? await applyBeside(storage, part) : await applyTogether(storage, part)));
  }
  return results;
}

function* partsOf(batch: readonly KeyedOperation[]): Generator<readonly KeyedOperation[]> {
  let part: KeyedOperation[] = [];
  let weight = 0;
  for (const operation of batch) {
    const more = weightOf(operation);
    if (part.length >= OPERATIONS_MAX || (part.length > 0 && weight + more > WEIGHT_MAX)) {
      yield part;
      part = [];
      weight = 0;
    }
    part.push(operation);
    weight += more;
  }
  if (part.length > 0) yield part;
}

function weightOf(operation: KeyedOperation): number {
  if (operation.op === 'admit') {
    const { claim, hold } = operation.request;
    return (claim === null ? BASE_WEIGHT : REPLAY_WEIGHT) + (hold?.run?.response.length ?? 0);
  }
  if (operation.op !== 'settle') return BASE_WEIGHT;
  const { reply, kept, run } = operation.request;
  const stored = (kept ? responseBytes(kept) : 0) + (run ? 2 * eventBytes(run) : 0);
  return BASE_WEIGHT + 2 * (reply?.body.length ?? 0) + stored;
}

/** What is about rows that somebody keeps locked fails, unless they are free by now; everything else goes without it. */
async function applyBeside(
  storage: HotStorage,
  batch: readonly KeyedOperation[],
  looks = LOOKS_MAX,
): Promise<readonly Result[]> {
  const { stuck } = storage;
  const routes = await routesOf(storage, batch);
  const rows = stuck.among(routes);
  if (rows.size === 0) return applyTogether(storage, batch, { looks });
  const parted = await withShortWaits(storage, (query) => stuck.part(query, rows, routes, batch));
  const results = new Map<KeyedOperation, Result>();
  const keep = (keys: Iterable<KeyedOperation>, outcomes: readonly Result[]): void => {
    for (const [index, key] of [...keys].entries()) results.set(key, outcomes[index] ?? null);
  };
  keep(parted.free.keys(), await applyTogether(storage, [...parted.free.values()], { looks }));
  for (const [id, operations] of parted.stuck) {
    const tried = parted.tried.has(id);
    keep(
      operations,
      tried ? await applyTogether(storage, operations, { stuckId: id }) : operations.map(() => lockedBy(id)),
    );
  }
  return batch.map((operation) => results.get(operation) ?? null);
}

function lockedBy(id: string): Result {
  return { kind: 'operation_failed', message: `${id} is locked by another transaction of the database` };
}

/** The whole table may be locked, which does not tell who has a row. */
function withShortWaits<T>({ connection }: HotStorage, work: (query: Query) => Promise<T>): Promise<T> {
  return connection.transaction('', (query, send) => {
    send(waitFor(STUCK_WAIT_MS));
    return work(query);
  });
}

const waitFor = (ms: number): string => `SET LOCAL lock_timeout = ${ms}`;

function queryOf({ connection }: HotStorage): Query {
  return (text, values, name) => connection.query(text, values, name);
}

function routesOf(storage: HotStorage, batch: readonly KeyedOperation[]): Promise<ReadonlyMap<string, Route>> {
  return storage.payers.routesOf(queryOf(storage), needsOf(batch).keys.keys());
}

interface Waits {
  /** Of what somebody keeps locked: it is waited for shortly. */
  readonly stuckId?: string;
  /** How often it may be looked who is in the way. */
  readonly looks?: number;
}

/** A batch that fails is undone and done again operation by operation, so that a bad one fails alone. */
async function applyTogether(
  storage: HotStorage,
  batch: readonly KeyedOperation[],
  waits: Waits = {},
): Promise<readonly Result[]> {
  const { stuckId, looks = LOOKS_MAX } = waits;
  const needs = needsOf(batch);
  for (let tries = 1; ; tries++) {
    try {
      return await attempt(storage, needs, batch, stuckId === undefined ? null : STUCK_WAIT_MS);
    } catch (error) {
      if (isLockTimeout(error)) {
        if (stuckId !== undefined) return batch.map(() => lockedBy(stuckId));
        const routes = await routesOf(storage, batch);
        if (looks === 0 || !(await withShortWaits(storage, (query) => storage.stuck.look(query, routes)))) throw error;
        return applyBeside(storage, batch, looks - 1);
      }
      // Any of its keys may have joined an account while it waited for it, or have other accounts above it.
      storage.payers.forget(needs.keys.keys());
      if (isConflict(error) && tries < CONFLICT_TRIES + needs.keys.size) continue;
      if (!isOperationFailure(error)) throw error;
      const [alone] = batch;
      if (batch.length > 1 || alone === undefined) break;
      return [failed(error)];
    }
  }
  const results: Result[] = [];
  for (const operation of batch) results.push(...(await applyTogether(storage, [operation], waits)));
  return results;
}

function failed(error: unknown): Result {
  return { kind: 'operation_failed', message: messageOf(error) };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function attempt(
  storage: HotStorage,
  needs: ReturnType<typeof needsOf>,
  batch: readonly KeyedOperation[],
  waitMs: number | null,
): Promise<readonly Result[]> {
  const { connection, clock, payers, serverVersion } = storage;
  const routes = await payers.routesOf(queryOf(storage), needs.keys.keys());
  if (routes.size === 0) return decide(nothing(needs), batch).results;
  const time = clock.values();
  const { set, results } = await connection.transaction('', async (query, send) => {
    if (waitMs !== null) send(waitFor(waitMs));
    const loaded = await load(query, serverVersion, time, needs, routes);
    checkPaths(loaded);
    const strange = strangeNodes(loaded);
    if (strange.length > 0) await loadNodes(query, loaded, strange);
    for (;;) {
      const decided = decide(loaded, batch);
      if (decided.missing.length > 0) await loadMore(query, serverVersion, time, loaded, decided.missing);
      else {
        save(send, decided.set.changes, serverVersion);
        return decided;
      }
    }
  });
  clock.saw(set.nowMs);
  for (const state of set.seen) payers.saw(state);
  return results;
}

/** The accounts above a key are others than it had when it was seen last: the batch goes again. */
class PathChanged extends Error {
  override name = 'PathChanged';
  /** That of two transactions that were in each other's way. */
  readonly code = '40001';
}

function checkPaths({ routes, keys, nodes }: Loaded): void {
  for (const [keyId, { rootId, accountIds }] of routes) {
    if (rootId === null) continue;
    let id = keys.get(keyId)?.account_id ?? null;
    while (id !== null) {
      const node = nodes.get(String(id));
      // That it is there for another key is not enough: its places in limits were loaded for what that one needs.
      if (node === undefined || !accountIds.includes(String(id))) {
        throw new PathChanged(`the account ${String(id)} is above ${keyId} meanwhile`);
      }
      id = node.parent_id ?? null;
    }
  }
}

/** Accounts that a hold was admitted on and that are not above its key any more. */
function strangeNodes({ holds, nodes }: Loaded): readonly string[] {
  const ids = new Set(holds.flatMap((hold) => pathOfHold(hold) ?? []));
  return [...ids].filter((id) => !nodes.has(id));
}

interface Decided {
  readonly set: LoadedSet;
  readonly results: readonly Result[];
  /** Where there is any, nothing else counts. */
  readonly missing: readonly NotLoaded[];
}

function decide(loaded: Loaded, batch: readonly KeyedOperation[]): Decided {
  const set = new LoadedSet(loaded);
  const missing: NotLoaded[] = [];
  const results = batch.map((operation): Result => {
    try {
      checkText(operation);
      return perform(set, operation);
    } catch (error) {
      if (error instanceof Refusal) return failed(error);
      // It may have been half decided: the batch is done again without the others.
      if (!(error instanceof NotLoaded)) throw new Refusal(messageOf(error), { cause: error });
      missing.push(error);
      return null;
    }
  });
  set.finish();
  return { set, results, missing };
}

function perform(keys: WorkingSet, operation: KeyedOperation): Result {
  switch (operation.op) {
    case 'admit':
      return admit(keys, operation.owner, operation.request);
    case 'extend':
      return extend(keys, operation);
    case 'mark':
      return mark(keys, operation.number, operation.marks);
    case 'settle':
      return settle(keys, operation.request);
    case 'void':
      return voidById(keys, operation.keyId, operation.holdId);
    case 'summary':
      return summarize(keys, operation.keyId);
    case 'recoverHold': {
      const state = keys.get(operation.keyId);
      const hold = state?.holds.get(operation.holdId);
      if (state === undefined || hold === undefined) return { kind: 'ended' };
      return recoverHold(keys, state, hold) ? { kind: 'settled', charged: hold.amount } : { kind: 'voided' };
    }
  }
}
