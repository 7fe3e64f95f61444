/** The places in rate limits that can decide: what asks for them, and by which time. */
import { RATE_WINDOW_MS } from '../operations.ts';

/** `$1` and `$2` are the clock's. */
const timeAt = (start: string): string =>
  `greatest(coalesce($1::bigint, floor(extract(epoch FROM ${start}) * 1000)::bigint), $2::bigint)`;
export const BEGUN_MS = timeAt('now()');
/** Places in a rate limit are taken when their turn has come, not when a wait for it began. */
const NOW_MS = timeAt('statement_timestamp()');

/** A key or an account with its places in a rate limit, and the time of its payer, not before `u.floor_ms`. */
const LIMITED = `FROM unnest($3::text[], $4::bigint[], $5::bigint[]) AS u(id, more, floor_ms)
  CROSS JOIN LATERAL (
    SELECT a.rpm_limit, a.tpm_limit, a.rate_first, a.rate_next, greatest(a.seen_ms, r.seen_ms) AS seen_ms
      FROM gateway.accounts a LEFT JOIN gateway.tree_accounts r ON r.id = a.root_id WHERE a.key_id = u.id COLLATE "C"
    UNION ALL SELECT t.rpm_limit, t.tpm_limit, t.rate_first, t.rate_next, r.seen_ms
      FROM gateway.tree_accounts t JOIN gateway.tree_accounts r ON r.id = t.root_id WHERE t.id = u.id COLLATE "C"
  ) p
  CROSS JOIN LATERAL (SELECT greatest(${NOW_MS}, p.seen_ms, u.floor_ms) - ${RATE_WINDOW_MS} AS over_ms) w`;
/**
 * The oldest place that still counts, for which whoever is refused waits; and the one that is waited for where the limit was
 * lowered below what is taken.
 */
function requestPlaces(id: string, overMs: string, limited: string): string {
  return `SELECT ${id} AS of_id, ${NOW_MS} AS now_ms, ${overMs} AS over_ms, r.number, r.at_ms, r.taken ${limited}
    LEFT JOIN LATERAL (
      (SELECT * FROM gateway.rates o WHERE o.key_id = ${id} COLLATE "C" AND o.number >= p.rate_first
        AND o.at_ms > ${overMs} ORDER BY o.number LIMIT 1)
      UNION ALL (SELECT * FROM gateway.rates d WHERE d.key_id = ${id} COLLATE "C"
        AND d.number <= p.rate_next - p.rpm_limit ORDER BY d.number DESC LIMIT 1)
    ) r ON true WHERE p.rpm_limit IS NOT NULL`;
}
export const REQUESTS = { name: 'request-places', text: requestPlaces('u.id', 'w.over_ms', LIMITED) };
/**
 * Of keys, by their own time: 60 µs of the server where the other statement takes 111. Where their root's time is later, a place may
 * have left the window since: whoever notices asks for those that follow (`NotLoaded`), with the other statement.
 */
export const KEY_REQUESTS = {
  name: 'key-request-places',
  text: requestPlaces(
    'p.key_id',
    'p.over_ms',
    `FROM (SELECT a.key_id, a.rpm_limit, a.rate_first, a.rate_next, greatest(${NOW_MS}, a.seen_ms) - ${RATE_WINDOW_MS} AS over_ms
      FROM gateway.accounts a WHERE a.key_id = ANY ($3) OFFSET 0) p`,
  ),
};
/**
 * The oldest token that still counts, those that `more` of them may have to wait for, and the first and the last that are stored.
 */
export const TOKENS = {
  name: 'token-places',
  text: `SELECT u.id AS of_id, ${NOW_MS} AS now_ms, w.over_ms, r.number, r.at_ms, r.taken ${LIMITED}
    LEFT JOIN LATERAL (SELECT l.number + l.taken AS following FROM gateway.token_rates l
      WHERE l.key_id = u.id COLLATE "C" ORDER BY l.number DESC LIMIT 1) n ON true
    LEFT JOIN LATERAL (
      (SELECT * FROM gateway.token_rates f WHERE f.key_id = u.id COLLATE "C" ORDER BY f.number LIMIT 1)
      UNION ALL (SELECT * FROM gateway.token_rates l WHERE l.key_id = u.id COLLATE "C" ORDER BY l.number DESC LIMIT 1)
      UNION ALL (SELECT * FROM gateway.token_rates o WHERE o.key_id = u.id COLLATE "C" AND o.at_ms > w.over_ms
        ORDER BY o.at_ms, o.number LIMIT 1)
      UNION ALL (SELECT * FROM gateway.token_rates d WHERE d.key_id = u.id COLLATE "C"
        AND d.number >= coalesce((SELECT max(m.number) FROM gateway.token_rates m
          WHERE m.key_id = u.id COLLATE "C" AND m.number < n.following - p.tpm_limit), 0)
        AND d.number < n.following - p.tpm_limit + u.more)
    ) r ON true WHERE p.tpm_limit IS NOT NULL`,
};
/** Keys and accounts with a limit, and how much may be counted for each at most. */
export class Limited {
  readonly #more = new Map<string, number>();

  add(ids: readonly string[], more: number): void {
    for (const id of ids) this.#more.set(id, (this.#more.get(id) ?? 0) + more);
  }

  get any(): boolean {
    return this.#more.size > 0;
  }

  get ids(): Iterable<string> {
    return this.#more.keys();
  }

  values(): readonly unknown[] {
    return [[...this.#more.keys()], [...this.#more.values()], [...this.#more.keys()].map(() => 0)];
  }
}
