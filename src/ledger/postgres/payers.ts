/**
 * Who pays for each key, as it was when the key was seen last: what a batch locks follows from it. Whatever has changed since is
 * noticed under the lock, and then read again.
 */
import { flag, type Row, text, textOrNull } from '../../storage/columns.ts';
import type { Query } from '../../storage/postgres/connection.ts';
import type { KeyState } from '../engine/key-state.ts';
import { nodesAbove, payerOf } from '../engine/key-state.ts';

export interface Route {
  /** Null for a key that pays for itself. */
  readonly rootId: string | null;
  /** The accounts above the key, from the nearest to the root. */
  readonly accountIds: readonly string[];
  /** What its levels limit, and so has to be loaded: requests by the key itself and by these accounts, and tokens by any of them. */
  readonly keyLimitsRequests: boolean;
  readonly limitingAccountIds: readonly string[];
  readonly tokensLimited: boolean;
  readonly promoted: boolean;
}

const ROUTES_MAX = 100_000;
const FIND = {
  name: 'payers',
  text: `SELECT a.key_id, a.root_id, (
      WITH RECURSIVE up AS (
        SELECT t.id, t.parent_id, 0 AS level FROM gateway.tree_accounts t WHERE t.id = a.account_id
        UNION ALL SELECT t.id, t.parent_id, up.level + 1 FROM up JOIN gateway.tree_accounts t ON t.id = up.parent_id
      ) SELECT json_agg(up.id ORDER BY up.level)::text FROM up) AS path,
      a.rpm_limit IS NOT NULL AS key_limits_requests, a.tpm_limit IS NOT NULL AS tokens_limited,
      a.promo_ms IS NOT NULL AS promoted
    FROM gateway.accounts a WHERE a.key_id = ANY ($1)`,
};

export class Payers {
  readonly #routes = new Map<string, Route>();

  /** Of those that there are. */
  async routesOf(query: Query, keyIds: Iterable<string>): Promise<ReadonlyMap<string, Route>> {
    const routes = new Map<string, Route>();
    const unknown: string[] = [];
    for (const keyId of keyIds) {
      const route = this.#routes.get(keyId);
      if (route === undefined) unknown.push(keyId);
      else routes.set(keyId, route);
    }
    if (unknown.length > 0) {
      if (this.#routes.size > ROUTES_MAX) this.#routes.clear();
      for (const row of await query(FIND.text, [unknown], FIND.name)) {
        const keyId = text(row, 'key_id');
        const route = routeFrom(row);
        this.#routes.set(keyId, route);
        routes.set(keyId, route);
      }
    }
    return routes;
  }

  /** As it was found under the lock. */
  saw(state: KeyState): void {
    const nodes = nodesAbove(state);
    const known = this.#routes.get(state.key.id);
    const promoted = payerOf(state).promoMs !== null;
    const keyLimitsRequests = state.key.rpmLimit !== null;
    const limitingAccountIds = nodes.flatMap(({ account }) => (account.rpmLimit === null ? [] : [account.id]));
    const tokensLimited = state.key.tpmLimit !== null || nodes.some(({ account }) => account.tpmLimit !== null);
    if (
      known === undefined ||
      (known.promoted === promoted &&
        known.keyLimitsRequests === keyLimitsRequests &&
        known.limitingAccountIds.join() === limitingAccountIds.join() &&
        known.tokensLimited === tokensLimited)
    ) {
      return;
    }
    this.#routes.set(state.key.id, { ...known, promoted, keyLimitsRequests, limitingAccountIds, tokensLimited });
  }

  forget(keyIds: Iterable<string>): void {
    for (const keyId of keyIds) this.#routes.delete(keyId);
  }
}

function routeFrom(row: Row): Route {
  const path = textOrNull(row, 'path');
  return {
    rootId: textOrNull(row, 'root_id'),
    accountIds: path === null ? [] : (JSON.parse(path) as string[]),
    keyLimitsRequests: flag(row, 'key_limits_requests'),
    // Not known yet: the engine asks for their places (`NotLoaded`), and `saw` keeps them.
    limitingAccountIds: [],
    tokensLimited: flag(row, 'tokens_limited'),
    promoted: flag(row, 'promoted'),
  };
}
