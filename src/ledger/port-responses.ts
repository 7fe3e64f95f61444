/** The part of the ledger's port that is about responses that are kept. */
import { change, lookup, type MethodsOf } from './operation.ts';

/** A response that later requests of its key can refer to. The texts are JSON of the caller, opaque to the ledger. */
export interface StoredResponse {
  readonly id: string;
  /** The response that it continues, whose items are not repeated here. */
  readonly parentId: string | null;
  /** The items that were new in its request; null where they were too large to be kept. */
  readonly input: string | null;
  readonly output: string;
  /** The rest of the response object. */
  readonly response: string;
}

export interface KeptResponse extends StoredResponse {
  /** The output items that can be referred to by themselves. */
  readonly itemIds: readonly string[];
  readonly keepMs: number;
  /** All responses of the key together: the oldest leave until there is room. */
  readonly keyBytesMax: number;
}

/** What is read to expand a reference. Reading renews: from then on it is kept for `keepMs`. */
export interface Renewal {
  readonly keyId: string;
  readonly keepMs: number;
  /** More than this in all is not read. */
  readonly bytesMax: number;
}

export type StoredLink = Pick<StoredResponse, 'id' | 'parentId' | 'output'> & { readonly input: string };

export type ChainOutcome =
  /** Oldest first; the last one is the response that was asked for. */
  | { readonly kind: 'chain'; readonly links: readonly StoredLink[] }
  /** This one, the response asked for or one that it continues, is not there for this key or was not kept whole. */
  | { readonly kind: 'unknown'; readonly id: string }
  | { readonly kind: 'cycle' }
  | { readonly kind: 'too_large' };

export type ItemsOutcome =
  /** The responses that have at least one of the items. */
  { readonly kind: 'items'; readonly outputs: readonly string[] } | { readonly kind: 'too_large' };

/**
 * Responses are there for the key that received them, and only until they expire. Where a renewal is lost, the response is
 * kept for less long.
 */
export const RESPONSE_OPERATIONS = {
  /** Null where there is none, or where it was not kept whole. */
  getResponse: lookup<(keyId: string, id: string) => StoredResponse | null>().takes('keyId', 'id'),
  findChain: lookup<(id: string, renewal: Renewal) => ChainOutcome>().takes('id', 'renewal'),
  findItems: lookup<(itemIds: readonly string[], renewal: Renewal) => ItemsOutcome>().takes('itemIds', 'renewal'),
  deleteResponse: change<(keyId: string, id: string) => { readonly kind: 'deleted' | 'unknown' }>().takes(
    'keyId',
    'id',
  ),
};

export interface StoredResponses extends Omit<MethodsOf<typeof RESPONSE_OPERATIONS>, 'deleteResponse'> {
  /** Whether there was one. */
  deleteResponse(keyId: string, id: string): Promise<boolean>;
}
