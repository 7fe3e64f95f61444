/** What the operations of a batch are about: what has to be locked and loaded before they are decided. */
import type { OperationName, OperationOf } from '../operations.ts';

/** The end of a hold that nobody is left to end; only the store itself asks for it. */
export interface RecoverHold {
  readonly op: 'recoverHold';
  readonly keyId: string;
  readonly holdId: string;
}

const KEYED = ['admit', 'extend', 'mark', 'settle', 'void', 'summary'] as const satisfies readonly OperationName[];

/** About keys: decided by the engine. */
export type KeyedOperation = OperationOf<(typeof KEYED)[number]> | RecoverHold;

const KEYED_NAMES: ReadonlySet<string> = new Set(KEYED);

export function isKeyed(operation: { readonly op: string }): operation is OperationOf<(typeof KEYED)[number]> {
  return KEYED_NAMES.has(operation.op);
}

export interface Needs {
  /** By their ids: how many requests and tokens the batch may count for it at most. */
  readonly keys: Map<string, { requests: number; tokens: number }>;
  readonly holds: Pairs;
  /** Holds that have probably neither been live nor ended before, and must not have. */
  readonly ends: Pairs;
  readonly claims: Pairs;
  readonly owners: Set<string>;
}

/** Ids of keys, each with the name of something that belongs to it. */
export interface Pairs {
  readonly keyIds: string[];
  readonly names: string[];
}

export function needsOf(batch: readonly KeyedOperation[]): Needs {
  const needs: Needs = {
    keys: new Map(),
    holds: noPairs(),
    ends: noPairs(),
    claims: noPairs(),
    owners: new Set(),
  };
  for (const operation of batch) addNeeds(needs, operation);
  return needs;
}

function addNeeds(needs: Needs, operation: KeyedOperation): void {
  switch (operation.op) {
    case 'admit': {
      const { keyId, hold, claim, newHold } = operation.request;
      const counts = countsOf(needs, keyId);
      counts.requests++;
      if (hold === null) return;
      counts.tokens += hold.inputTokens ?? 0;
      if (newHold !== true) {
        addPair(needs.holds, keyId, hold.id);
        addPair(needs.ends, keyId, hold.id);
      }
      if (claim !== null) addPair(needs.claims, keyId, claim.name);
      needs.owners.add(operation.owner);
      return;
    }
    case 'settle': {
      const { keyId, holdId, usage, outputTokens } = operation.request;
      countsOf(needs, keyId).tokens += usage?.tokens.output ?? outputTokens ?? 0;
      addPair(needs.holds, keyId, holdId);
      return;
    }
    case 'mark':
      for (const { keyId, holdId } of operation.marks) {
        countsOf(needs, keyId);
        addPair(needs.holds, keyId, holdId);
      }
      return;
    case 'summary':
      countsOf(needs, operation.keyId);
      return;
    default:
      countsOf(needs, operation.keyId);
      addPair(needs.holds, operation.keyId, operation.holdId);
  }
}

function countsOf({ keys }: Needs, keyId: string): { requests: number; tokens: number } {
  let counts = keys.get(keyId);
  if (counts === undefined) {
    counts = { requests: 0, tokens: 0 };
    keys.set(keyId, counts);
  }
  return counts;
}

export function noPairs(): Pairs {
  return { keyIds: [], names: [] };
}

export function addPair({ keyIds, names }: Pairs, keyId: string, name: string): void {
  keyIds.push(keyId);
  names.push(name);
}

/** A map of pairs. A text made of both would have to be made, and hashed, for every look. */
export class PairMap<T> {
  readonly #maps = new Map<string, Map<string, T>>();

  get(keyId: string, name: string): T | undefined {
    return this.#maps.get(keyId)?.get(name);
  }

  set(keyId: string, name: string, value: T): void {
    const map = this.#maps.get(keyId);
    if (map === undefined) this.#maps.set(keyId, new Map([[name, value]]));
    else map.set(name, value);
  }

  delete(keyId: string, name: string): void {
    this.#maps.get(keyId)?.delete(name);
  }

  *values(): Generator<T> {
    for (const map of this.#maps.values()) yield* map.values();
  }
}
